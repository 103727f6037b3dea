import Foundation
public import ObjectModel
@_spi(Generated) public import ObjectQuery
import ObjectStore

extension ManagedObject: FetchEvaluatable {}

extension ManagedObject: FetchConstantConvertible {
  /// The object as a constant, identified by its current ID. The temporary ID of an inserted object can match unsaved objects only.
  @_spi(Generated) public final var fetchConstant: FetchConstant { .object(objectID) }
}

// MARK: - Typed queries

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

// MARK: - Evaluating predicates on objects

extension FetchPredicate {
  /// Returns whether an object matches the predicate, including the object's unsaved changes.
  ///
  /// The evaluation follows the same rules as the stores. The predicate can use transient properties.
  ///
  /// - Throws: ``FetchPredicateError`` if the predicate does not fit the object's entity; the error of reading a value that the result
  ///   depends on.
  public func evaluate(with object: ManagedObject) throws -> Bool {
    let context = object.managedObjectContext
    guard let model = context?.model ?? ObjectIDSpace.space(object.objectID.space)?.model else { return false }
    let errorCount = context?.deferredErrors.count
    let result = try evaluate(with: object, in: model, resolver: ManagedObjectResolver())
    if let context, context.deferredErrors.count != errorCount, let error = context.pendingError { throw error }
    return result
  }
}

extension FetchCondition where FetchedClass: ManagedObject {
  /// Returns whether an object satisfies the condition, including the object's unsaved changes.
  ///
  /// - Throws: ``FetchPredicateError`` if the condition does not fit the object's entity.
  public func evaluate(with object: FetchedClass) throws -> Bool { try predicate.evaluate(with: object) }
}

// MARK: - Block predicates

extension FetchPredicate {
  /// Creates a condition written in Swift for objects of a class.
  ///
  /// ```swift
  /// request.predicate = try FetchPredicate(format: "price < 10") && .block { (book: Book) in book.title.isPalindrome }
  /// request.allowsInMemoryFiltering = true
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name of the condition in errors and printed predicates. Defaults to the source location.
  ///   - fileID: The file of the default name.
  ///   - line: The line of the default name.
  ///   - body: Returns whether an object satisfies the condition. Its errors are rethrown by the fetch.
  public static func block<Object: ManagedObject>(
    _ name: String? = nil, fileID: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable (Object) throws -> Bool
  ) -> FetchPredicate {
    let name = name ?? "\(fileID):\(line)"
    let block = BlockPredicate(name) { object in
      guard let object = object as? Object else {
        throw StoreError(.blockForOtherClass(name: name, expected: "\(Object.self)", found: "\(Swift.type(of: object))"), operation: .fetch)
      }
      return try body(object)
    }
    return .block(block)
  }
}

extension StoreError.Reason {
  static func blockForOtherClass(name: String, expected: String, found: String) -> Self {
    Self(.invalidRequest, "The block predicate \(name) is for objects of the class \(expected), not of \(found).")
  }
}

// MARK: - Filtering and sorting sequences

extension Sequence where Element: ManagedObject {
  /// Returns the objects that match a predicate, including unsaved changes. Preserves their order.
  ///
  /// - Throws: ``FetchPredicateError`` if the predicate does not fit an object's entity; the error of reading a value that the result
  ///   depends on.
  public func filtered(using predicate: FetchPredicate) throws -> [Element] { try filter { try predicate.evaluate(with: $0) } }

  /// Returns the objects that satisfy a condition, including unsaved changes. Preserves their order.
  ///
  /// - Throws: ``FetchPredicateError`` if the condition does not fit an object's entity; the error of reading a value that the result
  ///   depends on.
  public func filtered(using condition: FetchCondition<Element>) throws -> [Element] { try filtered(using: condition.predicate) }

  /// Returns the objects sorted by one descriptor. The sort is stable.
  ///
  /// - Throws: ``FetchPredicateError`` if the objects do not have the key or have no common superentity; the error of reading a value.
  public func sorted(using descriptor: FetchSortDescriptor) throws -> [Element] { try sorted(using: [descriptor]) }

  /// Returns the objects in the order in which a fetch with the descriptors would return them, including unsaved changes. The sort is
  /// stable.
  ///
  /// Reads each value once. Objects of different entities are sorted by properties of their common superentity.
  ///
  /// - Throws: ``FetchPredicateError`` if the objects do not have a key or have no common superentity; the error of reading a value.
  public func sorted(using descriptors: [FetchSortDescriptor]) throws -> [Element] {
    let objects = Array(self)
    guard let first = objects.first else { return [] }
    let context = first.managedObjectContext
    guard let model = context?.model ?? ObjectIDSpace.space(first.objectID.space)?.model else { return objects }
    var entity = first.compiledEntity
    for object in objects {
      while !object.compiledEntity.isKind(of: entity) {
        guard let above = entity.parent else {
          throw FetchPredicateError.unsupported(
            part: "An order of objects of \(first.compiledEntity.name) and \(object.compiledEntity.name) together",
            advice: "Sort objects that have a superentity in common.")
        }
        entity = model.entities[above]
      }
    }
    var specification = FetchSpecification(entityName: entity.name)
    specification.sortDescriptors = descriptors
    let errorCount = context?.deferredErrors.count
    let fetch = try FetchResolver(model: model, transientKeys: .allowed).resolve(specification)
    let order = ObjectOrder(fetch, resolver: ManagedObjectResolver())
    let positions = Dictionary(objects.enumerated().map { (ObjectIdentifier($1), $1) }, uniquingKeysWith: { one, _ in one })
    let sorted = try order.sorted(objects).compactMap { positions[ObjectIdentifier($0)] }
    if let context, context.deferredErrors.count != errorCount, let error = context.pendingError { throw error }
    return sorted
  }
}

// MARK: - Constants as Swift values

extension FetchConstant {
  /// The Swift value of the constant: nil for null, a name for an entity, an ID for an object, an array for a list, an `InMemoryValue` for a value
  /// of another type.
  package var swiftValue: (any Sendable)? {
    switch self {
    case .null: nil
    case .bool(let value): value
    case .int(let value): value
    case .real(let value): value
    case .decimal(let value): value
    case .string(let value), .entity(let value): value
    case .date(let value): value
    case .data(let value): value
    case .uuid(let value): value
    case .url(let value): value
    case .object(let value): value
    case .list(let values): values.map(\.swiftValue)
    case .inMemory(let value): value
    }
  }
}
