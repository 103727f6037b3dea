import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys

/// Determines which uniqueness constraint a migration violated.
enum ConstraintViolation {
  /// Returns the error for SQLite's error. It must be called while the migration's transaction is open.
  static func error(_ error: StoreAccessError, in schema: StoreSchema, _ transaction: ReadTransaction, path: String) throws -> StoreError {
    let indexes = try SchemaGenerator(schema: schema).indexes().filter { $0.meaning.origin == .uniqueness }
    let subject = error.uniqueSubject
    let found =
      indexes.first { $0.sql == error.sql }
      ?? indexes.first { index in
        let table = Identifier.unquoted(index.table)
        return subject == .index(index.name) || subject == .index(Identifier.unquoted(index.name))
          || subject == .columns(index.elements.map { "\(table).\(Identifier.unquoted($0))" })
      }
    guard let found else {
      return StoreError(.violatedUnknownConstraint, operation: .migrate, path: path, underlying: error)
    }
    var result = violation(found, count: try? count(found, transaction), path: path)
    result.underlying = error
    result.sqliteCode = error.code
    result.sqliteExtendedCode = error.extendedCode
    return result
  }

  static func violation(_ index: StoreIndex, count: Int?, path: String) -> StoreError {
    let (entity, properties) = (index.meaning.entityName, index.meaning.properties)
    var result = StoreError(.violatedConstraint(entity: entity, properties: properties, count: count), operation: .migrate, path: path)
    result.constraintConflicts = [
      ConstraintConflict(entityName: entity, constraint: properties, objectIDs: [], databaseObjectID: nil)
    ]
    return result
  }

  private static func count(_ index: StoreIndex, _ transaction: ReadTransaction) throws -> Int {
    let statement = try transaction.statement(sql: index.duplicateCount)
    defer { statement.reset() }
    return try statement.step() ? statement.int(0) : 0
  }
}
