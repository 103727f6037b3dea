public import ObjectModel
@_spi(Generated) public import ObjectQuery

extension TypedManagedObject {
  /// A request for all objects of the class's entity, as the start of a query: `Book.all.where { $0.price > 10 }.sorted { $0.title
  /// }.limit(20)`.
  public static var all: FetchRequest<Self> { fetchRequest() }

  /// Returns a predicate that matches if the object of an expression is of this class.
  static func isEntity(of object: FetchExpression) -> FetchPredicate {
    let names = classTable.entityNames(below: self)
    let entity = object.appending(["entity"])
    if names.count == 1 { return FetchPredicate(entity, .equal, .constant(.entity(names[0]))) }
    return FetchPredicate(entity, .in, .constant(.list(names.map { .entity($0) })))
  }
}

extension FetchObject where FetchedClass: ManagedObject {
  /// Returns a predicate that matches if the path leads to an object, or to no object if `right` is nil.
  public static func == (left: Self, right: FetchedClass?) -> FetchPredicate { left.compare(.equal, right?.objectID) }
  /// Returns a predicate that matches if the path leads to a different object or to none, or to any object if `right` is nil.
  public static func != (left: Self, right: FetchedClass?) -> FetchPredicate { left.compare(.notEqual, right?.objectID) }
  /// Returns a predicate that matches if the path leads to the object with an ID.
  public static func == (left: Self, right: ManagedObjectID) -> FetchPredicate { left.compare(.equal, right) }
  /// Returns a predicate that matches unless the path leads to the object with an ID.
  public static func != (left: Self, right: ManagedObjectID) -> FetchPredicate { left.compare(.notEqual, right) }
  /// Returns a predicate that matches if both paths lead to the same object, or both to none.
  public static func == <Other>(left: Self, right: FetchObject<FetchedClass, Other>) -> FetchPredicate {
    FetchPredicate(left.fetchExpression, .equal, right.fetchExpression)
  }
  /// Returns a predicate that matches if the paths lead to different objects.
  public static func != <Other>(left: Self, right: FetchObject<FetchedClass, Other>) -> FetchPredicate {
    FetchPredicate(left.fetchExpression, .notEqual, right.fetchExpression)
  }

  private func compare(_ op: ComparisonOperator, _ objectID: ManagedObjectID?) -> FetchPredicate {
    FetchPredicate(fetchExpression, op, .constant(objectID.fetchConstant))
  }

  /// Returns a predicate that matches if the path leads to one of the objects.
  public func isIn(_ objects: some Sequence<FetchedClass>) -> FetchPredicate { isIn(objects.map(\.objectID)) }

  /// Returns a predicate that matches if the path leads to an object with one of the IDs.
  public func isIn(_ objectIDs: some Sequence<ManagedObjectID>) -> FetchPredicate {
    FetchPredicate(fetchExpression, .in, .constant(.list(objectIDs.map { $0.fetchConstant })))
  }

  /// Returns a predicate that matches if the object is of a class, or of a subentity with its own class: the equivalent of `object is
  /// Novel` in memory.
  public func `is`<Other: TypedManagedObject>(_ type: Other.Type) -> FetchPredicate { type.isEntity(of: fetchExpression) }
}

extension Sequence where Element: ManagedObject {
  /// Returns a predicate that matches if the sequence contains the object at the end of a path.
  public func contains<Reach>(_ object: FetchObject<Element, Reach>) -> FetchPredicate { object.isIn(self) }
}

extension FetchMembers where Member: ManagedObject {
  /// Returns a predicate that matches if an object is a member.
  public func contains(_ object: Member) -> FetchPredicate { contains(object.objectID) }
  /// Returns a predicate that matches if the object with an ID is a member.
  public func contains(_ objectID: ManagedObjectID) -> FetchPredicate { contains(.constant(.object(objectID))) }
  /// Returns a predicate that matches if the object at the end of a path is a member.
  public func contains<Reach>(_ object: FetchObject<Member, Reach>) -> FetchPredicate { contains(object.fetchExpression) }
}
