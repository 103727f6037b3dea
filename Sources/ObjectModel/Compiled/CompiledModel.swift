// CompiledModel: a model frozen into integer tables.
public import Foundation

/// A model frozen on first use: entities and relationships are numbered, and every other layer speaks those numbers.
///
/// Entities are numbered in pre-order of the inheritance trees, roots and siblings in the order of their names, so that "this entity or below" is
/// one range. Immutable, and safe to share between threads.
public final class CompiledModel: Sendable {
  /// The model it was compiled from.
  public let model: ManagedObjectModel
  /// The entities by number.
  public let entities: [CompiledEntity]
  /// The relationships by number.
  public let relationships: [CompiledRelationship]
  /// What the model says that has no effect, or not the whole effect that it seems to have; see ``ManagedObjectModel/validationWarnings()``.
  public let warnings: [ModelIssue]
  /// The version hashes of the entities by name, 32 bytes each.
  public let versionHashes: [String: Data]
  /// One text for all version hashes and the order of the properties: two models with equal checksums have equal numbering.
  public let checksum: String
  /// One text for all declared indexes, which version hashes leave out; empty where there are none.
  package let indexChecksum: String
  /// Whether some index folds texts.
  package let hasFoldedIndexes: Bool
  /// Whether some index is over the words of texts.
  package let hasFullTextIndexes: Bool
  /// Whether some index is over an expression.
  package let hasExpressionIndexes: Bool
  /// Whether some attribute's large values may be kept in files.
  package let hasExternalAttributes: Bool
  /// How derived attributes are computed; one that builds on another comes after that.
  public let derivations: [CompiledDerivation]
  /// One text for all derivations, which version hashes leave out; empty where there are none.
  package let derivationChecksum: String
  private let numbersByName: [String: Int]

  /// Validates a model and freezes it. What ``ManagedObjectModel/validationWarnings()`` has is left out.
  ///
  /// - Parameters:
  ///   - model: The model.
  ///   - strict: Whether warnings are mistakes.
  /// - Throws: ``ModelValidationError`` with every mistake of the model.
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

  /// The entity of a name; nil when there is none.
  public func entity(named name: String) -> CompiledEntity? {
    numbersByName[name].map { entities[$0] }
  }

  /// The relationship back from a relationship; nil when there is none.
  public func inverse(of relationship: CompiledRelationship) -> CompiledRelationship? {
    relationship.inverseID.map { relationships[$0] }
  }

  /// The named inverse of a relationship that does not lead back; nil when there is none.
  package func followedInverse(of relationship: CompiledRelationship) -> CompiledRelationship? {
    relationship.followedInverseID.map { relationships[$0] }
  }

  /// The numbers of the entities of a configuration, or of all entities when the name is nil; nil when there is no such configuration.
  public func entityNumbers(inConfiguration name: String?) -> [Int]? {
    guard let name else { return entities.map(\.number) }
    guard let configuration = model.configurations.first(where: { $0.name == name }) else { return nil }
    return Set(configuration.entityNames.compactMap { numbersByName[$0] }).sorted()
  }
}
