package import ObjectModel

/// The values that the rows of a request have under uniqueness constraints. Each store uses its own method to find the rows that already
/// have these values.
package struct UniqueClaims {
  /// A constraint and the rows of the request that it applies to, by value.
  package struct Claim {
    /// The entity that declares the constraint, which applies to it and its subentities.
    package let declaring: CompiledEntity
    package let names: [String]
    /// The distinct values, in the order of their first row.
    package fileprivate(set) var values: [[Slot]] = []
    fileprivate var rows: [[Slot]: [ObjectReference]] = [:]
    fileprivate var holders: [[Slot]: ObjectReference] = [:]
  }

  /// The constraints that apply to rows of the request.
  package private(set) var claims: [Claim] = []
  private let model: CompiledModel
  /// The rows that the request writes or deletes. Their previous values do not conflict.
  private var known: Set<ObjectReference>
  /// The constraints of each entity found so far, as indices into `claims`.
  private var positions: [Int: [(position: Int, slots: [CompiledSlot])]] = [:]

  /// Collects the values of the rows that a save inserts or updates.
  package init(_ request: SaveChangesRequest, model: CompiledModel) throws {
    try self.init(request.updated.map(\.row) + Array(request.inserted), deleted: request.deleted.map(\.reference), model: model)
  }

  /// Collects the values of rows.
  package init(_ rows: [RowImage], deleted: [ObjectReference] = [], model: CompiledModel) throws {
    self.model = model
    known = Set(deleted)
    for row in rows { try record(row) }
  }

  private mutating func record(_ row: RowImage) throws {
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

  /// Returns the values of a row under a constraint, or nil if one is null: constraints do not apply to null values.
  private static func values(of row: RowImage, _ slots: [CompiledSlot]) throws -> [Slot]? {
    if slots.contains(where: { row.isNull($0.index) }) { return nil }
    return try slots.map { $0.kind == .reference ? .int(row.reference($0.index).key) : try row.slot($0.index, kind: $0.kind) }
  }

  // MARK: Holders

  /// Records the stored row that has the given values.
  package mutating func record(holder: ObjectReference, of values: [Slot], claim position: Int) {
    if !known.contains(holder) { claims[position].holders[values] = holder }
  }

  /// Searches rows for holders of the values.
  ///
  /// - Parameter rows: Returns all rows of an entity and its subentities.
  package mutating func findHolders(among rows: (CompiledEntity) -> [RowImage]) throws {
    for position in claims.indices {
      let claim = claims[position]
      let slots = claim.names.compactMap { name in claim.declaring.slots.first { $0.name == name } }
      for row in rows(claim.declaring) {
        guard let values = try Self.values(of: row, slots), claim.rows[values] != nil else { continue }
        record(holder: row.reference, of: values, claim: position)
      }
    }
  }

  // MARK: Conflicts

  /// Returns the constraints that are violated.
  package func conflicts(in space: ObjectIDSpace) -> [ConstraintConflict] {
    func objectID(_ reference: ObjectReference) -> ManagedObjectID {
      space.objectID(of: reference)
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
  /// Creates the error for violated uniqueness constraints. Returns nil if there are no conflicts.
  ///
  /// The message names the entity and properties of the first conflict; ``constraintConflicts`` contains all of them.
  ///
  /// - Parameters:
  ///   - conflicts: The conflicts.
  ///   - operation: The operation that failed.
  ///   - path: The path of the store's file.
  ///   - underlying: The error that reported the violation.
  public init?(_ conflicts: [ConstraintConflict], operation: StoreOperation, path: String? = nil, underlying: (any Error)? = nil) {
    guard let first = conflicts.first else { return nil }
    self.init(first, operation: operation, path: path, underlying: underlying)
    constraintConflicts = conflicts
  }

  /// Creates the error for one violated uniqueness constraint.
  package init(_ conflict: ConstraintConflict, operation: StoreOperation, path: String? = nil, underlying: (any Error)? = nil) {
    self.init(
      .duplicateValues(entity: conflict.entityName, properties: conflict.constraint), operation: operation, path: path,
      underlying: underlying)
    constraintConflicts = [conflict]
  }
}
