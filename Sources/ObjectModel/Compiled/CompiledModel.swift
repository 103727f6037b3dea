public import Foundation
import Synchronization

/// An immutable model whose entities and relationships are numbered. All other layers use these numbers.
///
/// Entities are numbered in pre-order of the inheritance trees, with roots and siblings ordered by name, so that an entity and its
/// subentities form one range. Safe to share between threads.
public final class CompiledModel: Sendable {
  /// The model from which this one was compiled.
  public let model: ManagedObjectModel
  /// The entities by number.
  public let entities: [CompiledEntity]
  /// The relationships by number.
  public let relationships: [CompiledRelationship]
  /// Parts of the model that have no effect, or less effect than they suggest; see ``ManagedObjectModel/validationWarnings()``.
  public let warnings: [ModelIssue]
  /// The version hashes of the entities by name, 32 bytes each.
  public let versionHashes: [String: Data]
  /// A checksum of all version hashes and the order of the properties. Models with equal checksums have equal numbering.
  public let checksum: String
  /// A checksum of all declared indexes, which version hashes do not cover; empty without indexes.
  package let indexChecksum: String
  /// Whether an index has a case- or diacritic-insensitive collation.
  package let hasFoldedIndexes: Bool
  /// Whether there is a full-text index.
  package let hasFullTextIndexes: Bool
  /// Whether there is an index over an expression.
  package let hasExpressionIndexes: Bool
  /// Whether large values of an attribute may be stored in external files.
  package let hasExternalAttributes: Bool
  /// The derivations of derived attributes, in order of dependency.
  public let derivations: [CompiledDerivation]
  /// A checksum of all derivations, which version hashes do not cover; empty without derivations.
  package let derivationChecksum: String
  private let numbersByName: [String: Int]

  /// Validates and compiles a model. Parts reported by ``ManagedObjectModel/validationWarnings()`` are omitted.
  ///
  /// - Parameters:
  ///   - model: The model.
  ///   - strict: Whether to treat warnings as errors.
  /// - Throws: ``ModelValidationError`` with all issues of the model.
  public init(_ model: ManagedObjectModel, strict: Bool = false) throws(ModelValidationError) {
    let validation = ModelValidation(checking: model)
    let issues = validation.issues + (strict ? validation.warnings.map(\.withoutSubstitute) : [])
    guard issues.isEmpty else { throw ModelValidationError(issues: issues) }
    let numbering = EntityNumbering(validation.usable, inverses: validation.inverses)
    self.model = model
    warnings = validation.warnings
    (entities, relationships) = numbering.compile()
    numbersByName = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0.number) })
    versionHashes = ModelVersionHash.hashes(of: model)
    checksum = ModelVersionHash.checksum(of: entities, hashes: versionHashes)
    indexChecksum = ModelVersionHash.indexChecksum(of: entities)
    hasExternalAttributes = entities.contains { entity in
      entity.largeSlots.contains { entity.slots[$0].attribute?.allowsExternalBinaryDataStorage ?? false }
    }
    derivations = DerivationCompiler.derivations(of: entities)
    derivationChecksum = ModelVersionHash.checksum(of: derivations)
    hasFoldedIndexes = validation.usable.entities.contains { $0.indexes.contains { $0.elements.contains { $0.collation != .binary } } }
    hasExpressionIndexes = validation.usable.entities.contains { $0.indexes.contains { $0.elements.contains { $0.expression != nil } } }
    hasFullTextIndexes = validation.usable.entities.contains { $0.indexes.contains(where: \.isFullText) }
  }

  /// Returns the entity with a name; nil if there is none.
  public func entity(named name: String) -> CompiledEntity? {
    numbersByName[name].map { entities[$0] }
  }

  /// Returns the mutual inverse of a relationship; nil if there is none.
  public func inverse(of relationship: CompiledRelationship) -> CompiledRelationship? {
    relationship.inverseID.map { relationships[$0] }
  }

  /// Returns the one-sided inverse of a relationship; nil if there is none.
  package func followedInverse(of relationship: CompiledRelationship) -> CompiledRelationship? {
    relationship.followedInverseID.map { relationships[$0] }
  }

  /// Returns the numbers of the entities of a configuration, or of all entities if the name is nil; nil if there is no such configuration.
  public func entityNumbers(inConfiguration name: String?) -> [Int]? {
    guard let name else { return entities.map(\.number) }
    guard let configuration = model.configurations.first(where: { $0.name == name }) else { return nil }
    return Set(configuration.entityNames.compactMap { numbersByName[$0] }).sorted()
  }
}

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
