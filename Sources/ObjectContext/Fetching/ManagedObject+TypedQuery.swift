// ManagedObject+TypedQuery: objects and entities in typed queries.
public import ObjectModel
public import ObjectQuery

extension TypedManagedObject {
  /// A request for all objects of the class's entity, to be narrowed: `Book.all.where { $0.price > 10 }.sorted { $0.title }.limit(20)`.
  public static var all: FetchRequest<Self> { fetchRequest() }

  /// Whether the object that an expression stands for is of this class.
  static func isEntity(of object: FetchExpression) -> FetchPredicate {
    let names = classTable.entityNames(below: self)
    let entity = object.appending(["entity"])
    if names.count == 1 { return FetchPredicate(entity, .equal, .constant(.entity(names[0]))) }
    return FetchPredicate(entity, .in, .constant(.list(names.map { .entity($0) })))
  }
}

extension FetchObject where FetchedClass: ManagedObject {
  /// Whether it is an object; with nil, whether there is none.
  public static func == (left: Self, right: FetchedClass?) -> FetchPredicate { left.compare(.equal, right?.objectID) }
  /// Whether it is another object than one, or none; with nil, whether there is one.
  public static func != (left: Self, right: FetchedClass?) -> FetchPredicate { left.compare(.notEqual, right?.objectID) }
  /// Whether it is the object of an ID.
  public static func == (left: Self, right: ManagedObjectID) -> FetchPredicate { left.compare(.equal, right) }
  /// Whether it is not the object of an ID.
  public static func != (left: Self, right: ManagedObjectID) -> FetchPredicate { left.compare(.notEqual, right) }
  /// Whether two paths lead to one object, or both to none.
  public static func == <Other>(left: Self, right: FetchObject<FetchedClass, Other>) -> FetchPredicate {
    FetchPredicate(left.fetchExpression, .equal, right.fetchExpression)
  }
  /// Whether two paths lead to two objects.
  public static func != <Other>(left: Self, right: FetchObject<FetchedClass, Other>) -> FetchPredicate {
    FetchPredicate(left.fetchExpression, .notEqual, right.fetchExpression)
  }

  private func compare(_ op: ComparisonOperator, _ objectID: ManagedObjectID?) -> FetchPredicate {
    FetchPredicate(fetchExpression, op, .constant(objectID._fetchConstant))
  }

  /// Whether it is one of several objects.
  public func isIn(_ objects: some Sequence<FetchedClass>) -> FetchPredicate { isIn(objects.map(\.objectID)) }

  /// Whether it is one of the objects of several IDs.
  public func isIn(_ objectIDs: some Sequence<ManagedObjectID>) -> FetchPredicate {
    FetchPredicate(fetchExpression, .in, .constant(.list(objectIDs.map { $0._fetchConstant })))
  }

  /// Whether its entity is that of a class, or one below that has a class of its own: what `object is Novel` tells in memory.
  public func `is`<Other: TypedManagedObject>(_ type: Other.Type) -> FetchPredicate { type.isEntity(of: fetchExpression) }
}

extension Sequence where Element: ManagedObject {
  /// Whether the object at the end of a path is one of the elements.
  public func contains<Reach>(_ object: FetchObject<Element, Reach>) -> FetchPredicate { object.isIn(self) }
}

extension FetchMembers where Member: ManagedObject {
  /// Whether an object is a member.
  public func contains(_ object: Member) -> FetchPredicate { contains(object.objectID) }
  /// Whether the object of an ID is a member.
  public func contains(_ objectID: ManagedObjectID) -> FetchPredicate { contains(.constant(.object(objectID))) }
  /// Whether the object at the end of a path is a member.
  public func contains<Reach>(_ object: FetchObject<Member, Reach>) -> FetchPredicate { contains(object.fetchExpression) }
}
