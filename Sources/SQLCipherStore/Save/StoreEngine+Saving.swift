// StoreEngine+Saving: a save as one write transaction, and what it says when rows were changed by somebody else.
import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection

/// Thrown inside a save whose rows are not as they were read; the save is rolled back before it is found out which.
struct VersionsDiffer: Error {}

extension StoreEngine {
  /// Writes all of a save, or nothing.
  ///
  /// - Returns: What was computed.
  func save(_ request: SaveChangesRequest, in scope: RequestScope) throws -> SaveOutcome {
    guard !request.isEmpty else { return SaveOutcome() }
    let now = Date().timeIntervalSinceReferenceDate
    let request = schema.derivations.isEmpty ? request : request.withLocalValues(schema.model, now: now)
    do {
      return try save(request, in: scope, now: now, namesClashes: false)
    } catch is VersionsDiffer {
      throw try mergeConflict(of: request, space: scope.objectIDSpace)
    } catch is UniqueValuesTaken {
      if let error = try constraintConflict(of: request, space: scope.objectIDSpace) { throw error }
      // Others have let go of the values since then.
      do {
        return try save(request, in: scope, now: now, namesClashes: true)
      } catch is VersionsDiffer {
        throw try mergeConflict(of: request, space: scope.objectIDSpace)
      }
    }
  }

  private func save(
    _ request: SaveChangesRequest, in scope: RequestScope, now: Double, namesClashes: Bool
  ) throws -> SaveOutcome {
    try writeKeepingReferences(operation: .save) { connection in
      try stopping(connection, when: scope.cancellation) {
        let updater = try deriving(on: connection, now: now) {
          var executor = SaveExecutor(engine: self, connection: connection, request: request, space: scope.objectIDSpace)
          executor.namesClashes = namesClashes
          try executor.run()
          if !schema.derivations.isEmpty { marks.forgetLocal() }
        }.updater
        return try updater?.outcome(of: request) ?? SaveOutcome()
      }
    }
  }

  /// Runs `body` in a write transaction; a foreign key that does not hold at its end is an error of the request.
  func writeKeepingReferences<Result>(operation: StoreOperation, _ body: (Connection) throws -> Result) throws -> Result {
    do {
      return try write(body)
    } catch let error as StoreAccessError where error.extendedCode == ConstraintCode.foreignKey {
      var failure = StoreError(
        .objectNotFound, "A saved object refers to an object that is not in the store, or a deleted one is still referred to.",
        operation: operation, path: path, underlying: error)
      failure.sqliteCode = error.code
      failure.sqliteExtendedCode = error.extendedCode
      throw failure
    }
  }

  /// All rows of a save that are not as they were read.
  private func mergeConflict(of request: SaveChangesRequest, space: ObjectIDSpace) throws -> StoreError {
    var expected: [(reference: ObjectReference, version: Int64)] = request.updated.map { ($0.row.reference, $0.oldVersion) }
    expected += (request.deleted + request.locked).filter { $0.version != 0 }.map { ($0.reference, $0.version) }
    let ids = expected.map { Self.objectID(of: $0.reference, in: space) }
    let rows = try rows(of: ids)
    var found: [Int64: [Int: RowImage]] = [:]
    for row in rows { found[row.key, default: [:]][schema.model.entities[row.entityNumber].root] = row }
    var error = StoreError(
      .mergeConflict, "Objects were changed or deleted by somebody else since they were read.", operation: .save, path: path)
    for (index, item) in expected.enumerated() {
      let row = found[item.reference.key]?[schema.model.entities[item.reference.entity].root]
      guard row?.version != item.version else { continue }
      error.mergeConflicts.append(
        MergeConflict(objectID: ids[index], oldVersion: item.version, newVersion: row?.version ?? 0, persistedRow: row))
    }
    return error
  }

  static func objectID(of reference: ObjectReference, in space: ObjectIDSpace) -> ManagedObjectID {
    ManagedObjectID(space: space.number, entityNumber: UInt32(reference.entity), key: reference.key)
  }
}

/// SQLite's extended codes of constraints.
enum ConstraintCode {
  static let foreignKey: Int32 = 787
  static let primaryKey: Int32 = 1555
  static let unique: Int32 = 2067
  static let rowID: Int32 = 2579
}
