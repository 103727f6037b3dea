// CompiledModelCache: the models compiled last: another container under the same model costs no new one.
import Synchronization

extension CompiledModel {
  private static let capacity = 8
  private static let compiled = Mutex<[CompiledModel]>([])

  /// The compiled model of a model: one that was compiled before where it is known to be the same, and few were since.
  ///
  /// - Throws: ``ModelValidationError`` with every mistake of the model.
  package static func compiling(_ model: ManagedObjectModel) throws(ModelValidationError) -> CompiledModel {
    if let known = compiled.withLock({ models in models.first { $0.model.isCopy(of: model) } }) { return known }
    // Not under the lock: two threads at once compile it twice at most.
    let made = try CompiledModel(model)
    compiled.withLock { models in
      if models.count >= capacity { models.removeFirst() }
      models.append(made)
    }
    return made
  }
}

extension ManagedObjectModel {
  /// Whether two values are copies of one, of which neither was changed since. Models that are equal and were made apart are not.
  ///
  /// What a change would copy first is compared by its address: as long as both values live, equal addresses mean equal contents. The contents
  /// are not compared: that would take longer, and equal texts may differ in their bytes, as names in the file must not.
  fileprivate func isCopy(of other: ManagedObjectModel) -> Bool {
    isStorage(entities, of: other.entities) && isStorage(composites, of: other.composites)
      && isStorage(configurations, of: other.configurations)
      && isStorage(fetchRequestTemplates, of: other.fetchRequestTemplates)
      && versionIdentifiers.isSame(as: other.versionIdentifiers) && userInfo.isSame(as: other.userInfo)
      && isStorage(preserved.elements, of: other.preserved.elements) && preserved.attributes.isSame(as: other.preserved.attributes)
  }

  private func isStorage<Element>(_ elements: [Element], of others: [Element]) -> Bool {
    if elements.isEmpty || others.isEmpty { return elements.isEmpty && others.isEmpty }
    return elements.withUnsafeBufferPointer { own in
      others.withUnsafeBufferPointer { other in own.baseAddress == other.baseAddress && own.count == other.count }
    }
  }
}

extension Set<String> {
  /// Whether the texts are the same, byte by byte.
  fileprivate func isSame(as others: Set<String>) -> Bool {
    count == others.count
      && allSatisfy { text in others.firstIndex(of: text).map { others[$0].utf8.elementsEqual(text.utf8) } ?? false }
  }
}

extension Dictionary<String, String> {
  /// Whether keys and values are the same, byte by byte.
  fileprivate func isSame(as others: [String: String]) -> Bool {
    count == others.count
      && allSatisfy { key, value in
        guard let index = others.index(forKey: key) else { return false }
        return others[index].key.utf8.elementsEqual(key.utf8) && others[index].value.utf8.elementsEqual(value.utf8)
      }
  }
}
