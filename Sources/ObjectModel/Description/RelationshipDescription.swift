// RelationshipDescription: a reference property of an entity.

/// A relationship of an entity: where it leads, how many may be there, and what deleting an object does to them. It is a value, which an ``EntityDescription``
/// holds.
///
/// ```swift
/// let books = RelationshipDescription(name: "books", destination: "Book", inverse: "author", isToMany: true)
/// ```
///
/// Name the inverse wherever there is one: without it the other side is not kept in step.
public struct RelationshipDescription: Sendable, Hashable {
  /// The relationship's name, unique in its entity.
  public var name: String
  /// The name of the entity it refers to.
  public var destinationEntityName: String
  /// The name of the relationship back; nil when there is none.
  public var inverseName: String?
  /// Whether it refers to many objects.
  public var isToMany: Bool
  /// Whether the members have an order.
  public var isOrdered = false
  /// Whether a to-one relationship may refer to no object when the object is saved. One to many objects may, unless it has a ``minCount``.
  public var isOptional: Bool
  /// The least number of objects, checked when the relationship is not empty or not optional.
  public var minCount = 0
  /// The greatest number of objects; 0 for no bound.
  public var maxCount = 0
  /// What deleting the object does to those it refers to.
  public var deleteRule: DeleteRule
  /// Whether it is kept in memory only.
  public var isTransient = false
  /// What the property was called in an earlier version of the model.
  public var renamingIdentifier: String?
  /// Text that changes the version hash when nothing else does.
  public var versionHashModifier: String?
  /// Notes of the application.
  public var userInfo: [String: String] = [:]
  /// What a model file says beyond the other properties.
  package var preserved = PreservedXML()

  /// Makes a relationship.
  ///
  /// - Parameters:
  ///   - name: The relationship's name.
  ///   - destination: The entity at the other end.
  ///   - inverse: The name of the relationship back.
  ///   - isToMany: Whether there may be several objects at the other end.
  ///   - isOrdered: Whether the members have an order.
  ///   - isOptional: Whether an object may be saved without one at the other end.
  ///   - deleteRule: What deleting an object does to the other end.
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

/// What deleting an object does to the objects that its relationship refers to. The raw value is the name used in model files.
///
/// ```swift
/// let author = Entity("Author") {
///   Attribute("name", String.self)
///   Relationship("books", toMany: "Book", inverse: "author").onDelete(.cascade)
/// }
/// ```
///
/// A context applies the rules at the end of each event and when it saves; a batch deletion applies them in the store. Neither breaks ``DeleteRule/deny``: a
/// save throws ``ValidationError``, a batch deletion ``BatchError``. A context reads the objects that a cascade deletes, a batch deletion does not.
public enum DeleteRule: String, Sendable, Hashable, CaseIterable {
  /// The other objects forget the deleted one.
  case nullify = "Nullify"
  /// The other objects are deleted too.
  case cascade = "Cascade"
  /// The deletion fails while there are other objects.
  case deny = "Deny"
  /// Nothing happens to the other objects, which may be left with a reference to a missing one.
  case noAction = "No Action"
}
