import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys

/// Thrown inside a save if a row's version differs from the expected one. The save is rolled back before the differing rows are determined.
struct VersionsDiffer: Error {}

extension StoreEngine {
  /// Writes a save as one transaction. The coordinator publishes the written rows.
  ///
  /// - Returns: The values that the store computed.
  func save(_ request: SaveChangesRequest, in scope: RequestScope) throws -> SaveOutcome {
    guard !request.isEmpty else { return SaveOutcome() }
    // Derived values that depend only on their own row are written with it.
    let now = Date().timeIntervalSinceReferenceDate
    let request = schema.derivations.isEmpty ? request : try request.withLocalValues(schema.model, now: now)
    return try withoutDamage { try save(request, now: now, in: scope) }
  }

  private func save(_ request: SaveChangesRequest, now: Double, in scope: RequestScope) throws -> SaveOutcome {
    let transaction = try begin(.init(request: request, cancellation: scope.cancellation, now: now, objectIDSpace: scope.objectIDSpace))
    do {
      try transaction.withCancellation {
        let changes = try beginChanges(.save, transaction, scope)
        let oldRows = try changes.map { try readOldRows(of: request, for: $0, transaction) } ?? [:]
        var executor = SaveExecutor(engine: self, transaction: transaction, request: request, space: scope.objectIDSpace)
        try executor.run()
        try executor.report(oldRows: oldRows)
      }
      // The commit runs the participants.
      try transaction.commit()
      return transaction.outcome
    } catch {
      transaction.rollBack()
      throw error is VersionsDiffer ? try mergeConflict(of: request, space: scope.objectIDSpace) : explained(error, .save)
    }
  }

  /// Runs `body` in a write transaction, and converts its errors with ``explained(_:_:)``.
  func writeExplained<Result>(_ operation: StoreOperation, _ body: (WriteTransaction) throws -> Result) throws -> Result {
    try withoutDamage { do { return try begin().run(body) } catch { throw explained(error, operation) } }
  }

  /// Returns the error of a write request. A foreign key that is violated at the commit is an error of the request.
  func explained(_ error: any Error, _ operation: StoreOperation) -> any Error {
    guard let error = error as? StoreAccessError, error.extendedCode == ConstraintCode.foreignKey else { return error }
    var failure = StoreError(.danglingReference, operation: operation, path: path, underlying: error)
    failure.sqliteCode = error.code
    failure.sqliteExtendedCode = error.extendedCode
    return failure
  }

  /// Returns the error that lists all rows of a save whose versions differ from the expected ones.
  private func mergeConflict(of request: SaveChangesRequest, space: ObjectIDSpace) throws -> StoreError {
    var expected: [(reference: ObjectReference, version: Int64)] = request.updated.map { ($0.row.reference, $0.oldVersion) }
    expected += (request.deleted + request.locked).filter { $0.version != 0 }.map { ($0.reference, $0.version) }
    let ids = expected.map { space.objectID(of: $0.reference) }
    let rows = try rows(of: ids)
    var found: [Int64: [Int: RowImage]] = [:]
    for row in rows { found[row.key, default: [:]][schema.model.entities[row.entityNumber].root] = row }
    var error = StoreError(.changedElsewhere, operation: .save, path: path)
    for (index, item) in expected.enumerated() {
      let row = found[item.reference.key]?[schema.model.entities[item.reference.entity].root]
      guard row?.version != item.version else { continue }
      error.mergeConflicts.append(
        MergeConflict(objectID: ids[index], oldVersion: item.version, newVersion: row?.version ?? 0, persistedRow: row))
    }
    return error
  }
}
