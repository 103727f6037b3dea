// ManagedObjectContext+AsynchronousSnapshots: fetches of snapshots whose rows are read elsewhere.
import ObjectModel
public import ObjectQuery
import ObjectStore

extension ManagedObjectContext {
  /// Begins a fetch of typed snapshots that does not block the context's isolation, and returns at once.
  ///
  /// ```swift
  /// let books = try await context.asynchronousFetch(Book.all, as: Book.Snapshot.self).value()
  /// ```
  ///
  /// Stores are read on a queue; evaluating what no store can answer and reading members are done where the context lives, at the end, as are
  /// objects by ``asynchronousFetch(_:)``.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - type: The type of the snapshots: of the request's class, or of one above.
  ///   - relationships: The to-many relationships whose members the snapshots have, as IDs: one statement for each 500 results.
  /// - Throws: What `fetch(_:as:including:)` throws for what cannot be asked; ``StoreError`` with ``StoreError/Code/noOpenStore`` when no store is open.
  public func asynchronousFetch<Result: ManagedObject, Snapshot: TypedSnapshot>(
    _ request: FetchRequest<Result>, as type: Snapshot.Type, including relationships: [String] = []
  ) throws -> AsynchronousFetch<Snapshot> {
    try checkClass(Snapshot.Object.self, for: request.specification)
    return try asynchronousFetch(request.specification, including: relationships) { $0.map(Snapshot.init(_snapshot:)) }
  }

  /// Begins a fetch of snapshots that does not block the context's isolation, and returns at once.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - type: ``ObjectSnapshot``.
  ///   - relationships: The to-many relationships whose members the snapshots have, as IDs: one statement for each 500 results.
  /// - Throws: As for typed snapshots.
  public func asynchronousFetch<Result: ManagedObject>(
    _ request: FetchRequest<Result>, as type: ObjectSnapshot.Type, including relationships: [String] = []
  ) throws -> AsynchronousFetch<ObjectSnapshot> {
    try asynchronousFetch(request.specification, including: relationships) { $0 }
  }

  /// Begins a fetch of typed snapshots with the members of the to-many relationships that key paths lead to.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - type: The type of the snapshots: of the request's class, or of one above.
  ///   - relationships: The to-many relationships whose members the snapshots have, as IDs.
  /// - Throws: What the form with names throws; ``FetchPredicateError/unsupported(part:advice:)`` for a key path of no property of the model.
  @_disfavoredOverload
  public func asynchronousFetch<Result: TypedManagedObject, Snapshot: TypedSnapshot>(
    _ request: FetchRequest<Result>, as type: Snapshot.Type, including relationships: [PartialKeyPath<Result>]
  ) throws -> AsynchronousFetch<Snapshot> {
    try asynchronousFetch(request, as: type, including: Result.names(of: relationships))
  }

  /// Begins a fetch of snapshots with the members of the to-many relationships that key paths lead to.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - type: ``ObjectSnapshot``.
  ///   - relationships: The to-many relationships whose members the snapshots have, as IDs.
  /// - Throws: What the form with names throws; ``FetchPredicateError/unsupported(part:advice:)`` for a key path of no property of the model.
  @_disfavoredOverload
  public func asynchronousFetch<Result: TypedManagedObject>(
    _ request: FetchRequest<Result>, as type: ObjectSnapshot.Type, including relationships: [PartialKeyPath<Result>]
  ) throws -> AsynchronousFetch<ObjectSnapshot> {
    try asynchronousFetch(request, as: type, including: Result.names(of: relationships))
  }

  private func asynchronousFetch<Snapshot>(
    _ request: FetchSpecification, including names: [String], _ transform: @escaping ([ObjectSnapshot]) -> [Snapshot]
  ) throws -> AsynchronousFetch<Snapshot> {
    let specification = try request.ofSnapshots
    let relationships = try toMany(named: names, of: specification)
    return try AsynchronousFetch(specification, context: self) { answers in
      transform(try self.snapshots(of: specification, relationships, readBefore: answers))
    }
  }
}
