/// A relationship of an ``EntityDescription``: its destination, cardinality and delete rule.
///
/// ```swift
/// let books = RelationshipDescription(name: "books", destination: "Book", inverse: "author", isToMany: true)
/// ```
///
/// Specify the inverse if there is one. Without it, the other side is not kept in sync.
public struct RelationshipDescription: Sendable, Hashable {
  /// The relationship's name, unique in its entity.
  public var name: String
  /// The name of the destination entity.
  public var destinationEntityName: String
  /// The name of the inverse relationship; nil if there is none.
  public var inverseName: String?
  /// Whether the relationship is to-many.
  public var isToMany: Bool
  /// Whether the members are ordered.
  public var isOrdered = false
  /// Whether a to-one relationship may be empty when the object is saved. A to-many relationship may be empty unless it has a ``minCount``.
  public var isOptional: Bool
  /// The minimum number of objects, checked if the relationship is not empty or not optional.
  public var minCount = 0
  /// The maximum number of objects; 0 for no limit.
  public var maxCount = 0
  /// The effect of deleting the object on the objects that the relationship refers to.
  public var deleteRule: DeleteRule
  /// Whether the relationship exists in memory only.
  public var isTransient = false
  /// The name of the property in an earlier version of the model. After several renamings, use the first name: it identifies the property in
  /// all stores, those created with this version and those migrated to it.
  public var renamingIdentifier: String?
  /// A string that changes the version hash, even if nothing else changes.
  public var versionHashModifier: String?
  /// Application-defined values.
  public var userInfo: [String: String] = [:]
  /// Parts of the model file that the other properties do not represent.
  package var preserved = PreservedXML()

  /// Creates a relationship.
  ///
  /// - Parameters:
  ///   - name: The relationship's name.
  ///   - destination: The name of the destination entity.
  ///   - inverse: The name of the inverse relationship.
  ///   - isToMany: Whether the relationship is to-many.
  ///   - isOrdered: Whether the members are ordered.
  ///   - isOptional: Whether an object can be saved with an empty relationship.
  ///   - deleteRule: The effect of deleting an object.
  public init(
    name: String, destination: String, inverse: String? = nil, isToMany: Bool = false, isOrdered: Bool = false, isOptional: Bool = true,
    deleteRule: DeleteRule = .nullify
  ) {
    self.name = name
    destinationEntityName = destination
    inverseName = inverse
    self.isToMany = isToMany
    self.isOrdered = isOrdered
    self.isOptional = isOptional
    self.deleteRule = deleteRule
    maxCount = isToMany ? 0 : 1
  }
}

/// The effect of deleting an object on the objects that its relationship refers to. The raw value is the name used in model files.
///
/// ```swift
/// let author = Entity("Author") {
///   Attribute("name", String.self)
///   Relationship("books", toMany: "Book", inverse: "author").onDelete(.cascade)
/// }
/// ```
///
/// A context applies the rules at the end of each event and when it saves; a batch deletion applies them in the store. Both enforce
/// ``DeleteRule/deny``: a save throws ``ValidationError``, a batch deletion ``BatchError``. A context reads the objects that a cascade
/// deletes; a batch deletion does not.
public enum DeleteRule: String, Sendable, Hashable, CaseIterable {
  /// Removes the references to the deleted object.
  case nullify = "Nullify"
  /// Deletes the destination objects.
  case cascade = "Cascade"
  /// Rejects the deletion while the relationship refers to other objects.
  case deny = "Deny"
  /// Leaves the destination objects unchanged, which may then refer to a missing object.
  case noAction = "No Action"

  /// The effect of the rule. Saves, batches, undo, conflicts and the model's validation read the effect, not the rule.
  package var effect: DeleteEffect {
    switch self {
    case .nullify: .removesReferences
    case .cascade: .deletesMembers
    case .deny: .forbidsDeletion
    case .noAction: .leavesMembers
    }
  }

  /// The number of the rule in Core Data: of `NSDeleteRule`, and in compiled models.
  package var coreDataNumber: UInt {
    switch self {
    case .noAction: 0
    case .nullify: 1
    case .cascade: 2
    case .deny: 3
    }
  }

  /// Creates the rule with a number of Core Data; nil if there is none.
  package init?(coreDataNumber number: UInt) {
    guard let rule = Self.allCases.first(where: { $0.coreDataNumber == number }) else { return nil }
    self = rule
  }
}

/// The effect of deleting an object on the members of one of its relationships. ``DeleteRule/effect`` is the only place that maps rules
/// to effects.
package enum DeleteEffect: Sendable, Hashable {
  /// Members lose their references to the object.
  case removesReferences
  /// Members are deleted too.
  case deletesMembers
  /// The deletion fails while there are members that are not deleted too.
  case forbidsDeletion
  /// Members are left unchanged, and may refer to a missing object.
  case leavesMembers

  /// Whether the deletion removes the object from its members' inverse, so that no other change has to.
  package var removesLinks: Bool { self == .removesReferences || self == .deletesMembers }

  /// Whether no reference to the object remains after the deletion.
  package var leavesNoReferences: Bool { self != .leavesMembers }
}
