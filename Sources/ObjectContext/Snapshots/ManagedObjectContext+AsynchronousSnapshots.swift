import ObjectModel
public import ObjectQuery
import ObjectStore

extension ManagedObjectContext {
  /// Starts a fetch of typed snapshots without blocking the context's isolation, and returns immediately.
  ///
  /// ```swift
  /// let books = try await context.asynchronousFetch(Book.all, as: Book.Snapshot.self).value()
  /// ```
  ///
  /// Stores are read on a queue. Parts of the request that no store can evaluate, and to-many members, are processed at the end in the
  /// context's isolation, as objects are in ``asynchronousFetch(_:)``.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - type: The snapshot type of the request's class or of a superclass.
  ///   - relationships: The to-many relationships whose members to include, as IDs. Each costs one statement per 500 results.
  /// - Throws: The errors of `fetch(_:as:including:)` for unsupported requests; ``StoreError`` with ``StoreError/Code/noOpenStore`` if no
  ///   store is open.
  public func asynchronousFetch<Result: ManagedObject, Snapshot: TypedSnapshot>(
    _ request: FetchRequest<Result>, as type: Snapshot.Type, including relationships: [String] = []
  ) throws -> AsynchronousFetch<Snapshot> {
    try checkClass(Snapshot.Object.self, for: request.specification)
    return try asynchronousFetch(request.specification, including: relationships) { $0.map { Snapshot(storage: SnapshotStorage($0)) } }
  }

  /// Starts a fetch of snapshots without blocking the context's isolation, and returns immediately.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - type: ``ObjectSnapshot``.
  ///   - relationships: The to-many relationships whose members to include, as IDs. Each costs one statement per 500 results.
  /// - Throws: The errors of the method for typed snapshots.
  public func asynchronousFetch<Result: ManagedObject>(
    _ request: FetchRequest<Result>, as type: ObjectSnapshot.Type, including relationships: [String] = []
  ) throws -> AsynchronousFetch<ObjectSnapshot> {
    try asynchronousFetch(request.specification, including: relationships) { $0 }
  }

  /// Starts a fetch of typed snapshots that include the members of to-many relationships, given as key paths.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - type: The snapshot type of the request's class or of a superclass.
  ///   - relationships: The to-many relationships whose members to include, as IDs.
  /// - Throws: The errors of the method that takes names; ``FetchPredicateError/unsupported(part:advice:)`` for a key path to a property
  ///   that is not in the model.
  @_disfavoredOverload
  public func asynchronousFetch<Result: TypedManagedObject, Snapshot: TypedSnapshot>(
    _ request: FetchRequest<Result>, as type: Snapshot.Type, including relationships: [PartialKeyPath<Result>]
  ) throws -> AsynchronousFetch<Snapshot> {
    try asynchronousFetch(request, as: type, including: Result.names(of: relationships))
  }

  /// Starts a fetch of snapshots that include the members of to-many relationships, given as key paths.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - type: ``ObjectSnapshot``.
  ///   - relationships: The to-many relationships whose members to include, as IDs.
  /// - Throws: The errors of the method that takes names; ``FetchPredicateError/unsupported(part:advice:)`` for a key path to a property
  ///   that is not in the model.
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
    return try AsynchronousFetch(specification, context: self) { readResult in
      transform(try self.snapshots(of: specification, relationships, readBefore: readResult))
    }
  }
}
