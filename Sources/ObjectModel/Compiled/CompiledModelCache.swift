import Synchronization

extension CompiledModel {
  private static let capacity = 8
  private static let compiled = Mutex<[CompiledModel]>([])

  /// Returns the compiled form of a model, from a cache of the eight most recent ones if the model is an unchanged copy.
  ///
  /// - Throws: ``ModelValidationError`` with all issues of the model.
  package static func compiling(_ model: ManagedObjectModel) throws(ModelValidationError) -> CompiledModel {
    if let known = compiled.withLock({ models in models.first { $0.model.isCopy(of: model) } }) { return known }
    // Outside the lock: concurrent calls may compile the model twice.
    let made = try CompiledModel(model)
    compiled.withLock { models in
      if models.count >= capacity { models.removeFirst() }
      models.append(made)
    }
    return made
  }
}

extension ManagedObjectModel {
  /// Returns whether two models are unchanged copies of the same value. Equal models that were created separately are not.
  ///
  /// Compares the addresses of copy-on-write storage: while both values exist, equal addresses imply equal contents. Comparing the contents
  /// would take longer, and equal strings can differ in their bytes, which matters for names in the file.
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
  /// Returns whether the strings are bytewise equal.
  fileprivate func isSame(as others: Set<String>) -> Bool {
    count == others.count
      && allSatisfy { text in others.firstIndex(of: text).map { others[$0].utf8.elementsEqual(text.utf8) } ?? false }
  }
}

extension Dictionary<String, String> {
  /// Returns whether keys and values are bytewise equal.
  fileprivate func isSame(as others: [String: String]) -> Bool {
    count == others.count
      && allSatisfy { key, value in
        guard let index = others.index(forKey: key) else { return false }
        return others[index].key.utf8.elementsEqual(key.utf8) && others[index].value.utf8.elementsEqual(value.utf8)
      }
  }
}
