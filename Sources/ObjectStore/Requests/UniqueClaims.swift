// UniqueClaims: the unique values that rows of a request take, and what is said where others have them.
package import ObjectModel

/// The values that written rows have under uniqueness constraints. Each store looks in its own way for who has them already.
package struct UniqueClaims {
  /// A constraint, and the rows of the request that it holds for, by their values.
  package struct Claim {
    /// The entity that declares the constraint: it holds for that entity and all below.
    package let declaring: CompiledEntity
    /// The names of the constraint's properties.
    package let names: [String]
    /// The values, in the order of the rows that have them first.
    package fileprivate(set) var values: [[Slot]] = []
    fileprivate var rows: [[Slot]: [ObjectReference]] = [:]
    fileprivate var holders: [[Slot]: ObjectReference] = [:]
  }

  /// The constraints that rows of the request have values under.
  package private(set) var claims: [Claim] = []
  private let model: CompiledModel
  /// The rows that the request writes or deletes: what they had before is free.
  private var known: Set<ObjectReference>
  /// The constraints of each entity met so far, by their positions among the claims.
  private var positions: [Int: [(position: Int, slots: [CompiledSlot])]] = [:]

  /// The values that a save takes.
  package init(_ request: SaveChangesRequest, model: CompiledModel) throws {
    try self.init(request.updated.map(\.row) + Array(request.inserted), deleted: request.deleted.map(\.reference), model: model)
  }

  /// The values that rows take.
  package init(_ rows: [RowImage], deleted: [ObjectReference] = [], model: CompiledModel) throws {
    self.model = model
    known = Set(deleted)
    for row in rows { try note(row) }
  }

  private mutating func note(_ row: RowImage) throws {
    known.insert(row.reference)
    if positions[row.entityNumber] == nil {
      positions[row.entityNumber] = model.entities[row.entityNumber].constraints(in: model).map { constraint in
        let found = claims.firstIndex { $0.declaring.number == constraint.entity && $0.names == constraint.names }
        if found == nil { claims.append(Claim(declaring: model.entities[constraint.entity], names: constraint.names)) }
        return (found ?? claims.count - 1, constraint.slots)
      }
    }
    for (position, slots) in positions[row.entityNumber] ?? [] {
      guard let values = try Self.values(of: row, slots) else { continue }
      if claims[position].rows[values] == nil { claims[position].values.append(values) }
      claims[position].rows[values, default: []].append(row.reference)
    }
  }

  /// The values of a row under a constraint; nil where one is missing, so that it does not hold.
  private static func values(of row: RowImage, _ slots: [CompiledSlot]) throws -> [Slot]? {
    if slots.contains(where: { row.isNull($0.index) }) { return nil }
    return try slots.map { $0.kind == .reference ? .int(row.reference($0.index).key) : try row.slot($0.index, kind: $0.kind) }
  }

  // MARK: Who has them

  /// Tells who has values in the store.
  package mutating func note(holder: ObjectReference, of values: [Slot], claim position: Int) {
    if !known.contains(holder) { claims[position].holders[values] = holder }
  }

  /// Looks for the holders among rows.
  ///
  /// - Parameter rows: All rows of an entity and those below it.
  package mutating func findHolders(among rows: (CompiledEntity) -> [RowImage]) throws {
    for position in claims.indices {
      let claim = claims[position]
      let slots = claim.names.compactMap { name in claim.declaring.slots.first { $0.name == name } }
      for row in rows(claim.declaring) {
        guard let values = try Self.values(of: row, slots), claim.rows[values] != nil else { continue }
        note(holder: row.reference, of: values, claim: position)
      }
    }
  }

  // MARK: The answer

  /// The constraints that do not hold.
  package func conflicts(in space: ObjectIDSpace) -> [ConstraintConflict] {
    func objectID(_ reference: ObjectReference) -> ManagedObjectID {
      ManagedObjectID(space: space.number, entityNumber: UInt32(reference.entity), key: reference.key)
    }
    return claims.flatMap { claim in
      claim.values.compactMap { values in
        guard let rows = claim.rows[values], rows.count > 1 || claim.holders[values] != nil else { return nil }
        return ConstraintConflict(
          entityName: claim.declaring.name, constraint: claim.names, objectIDs: rows.map(objectID),
          databaseObjectID: claim.holders[values].map(objectID))
      }
    }
  }
}

extension StoreError {
  /// The error of rows that have the same values under uniqueness constraints, for stores that find them: it names the first conflict's entity and properties,
  /// and has all of them in ``constraintConflicts``.
  ///
  /// - Parameters:
  ///   - conflicts: The conflicts; nil is made of none.
  ///   - operation: What was to be done.
  ///   - path: The store's file.
  ///   - underlying: The error that the conflicts were found by.
  public init?(_ conflicts: [ConstraintConflict], operation: StoreOperation, path: String? = nil, underlying: (any Error)? = nil) {
    guard let first = conflicts.first else { return nil }
    self.init(first, operation: operation, path: path, underlying: underlying)
    constraintConflicts = conflicts
  }

  /// The error of rows that have the same values under one uniqueness constraint.
  package init(_ conflict: ConstraintConflict, operation: StoreOperation, path: String? = nil, underlying: (any Error)? = nil) {
    self.init(
      .sameValues(entity: conflict.entityName, properties: conflict.constraint), operation: operation, path: path, underlying: underlying)
    constraintConflicts = [conflict]
  }
}
