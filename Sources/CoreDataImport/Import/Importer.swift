import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection
import SQLCipherStore

/// Performs one import on the calling thread, in one transaction: counts, rows of all tables, links, and a comparison of the counts. It
/// holds one batch of rows in memory, in addition to SQLite's page cache.
struct Importer {
  let source: CoreDataStore
  let store: PersistentStore
  let model: CompiledModel
  let cancellation: RequestCancellation
  let progress: CoreDataStore.Progress?

  private final class Position {
    var done = 0
    var total = 0
  }

  func run() throws -> CoreDataImportReport {
    let numbers = store.entityNumbers.intersection(
      source.entityNumbers.compactMap { model.entity(named: source.model.entities[$0].name)?.number })
    return try source.read(model: model, entityNumbers: numbers.sorted()) { connection, layout in
      do {
        return try run(connection, layout)
      } catch var error as CoreDataImportError {
        error.path = error.path ?? connection.path
        throw error
      }
    }
  }

  private func run(_ connection: Connection, _ layout: SourceLayout) throws -> CoreDataImportReport {
    let position = Position()
    var expected: [Int: Int] = [:]
    for table in layout.tables { expected.merge(try SourceRows.counts(table, layout: layout, connection: connection)) { $0 + $1 } }
    position.total = expected.values.reduce(0, +)
    for join in layout.joins { position.total += try SourceLinks.count(join, connection: connection) }

    let reader = ValueReader(layout: layout, store: source.url, options: source.options)
    let transfer = try RowTransfer(into: store, scope: RequestScope(objectIDSpace: store.space))
    var report = CoreDataImportReport(layout: source.layout)
    try transfer.transaction {
      try advance(position, by: 0)
      let before = try transfer.counts()
      var offsets: [Int: Int64] = [:]
      for table in layout.tables {
        let maximum = try SourceRows.maximumKey(table, connection: connection)
        offsets[table.root.number] = try transfer.reserveKeys(upTo: maximum, rootEntity: table.root.number)
      }
      var read: [Int: Int] = [:]
      for table in layout.tables {
        let rows = try SourceRows(
          table, layout: layout, reader: reader, options: source.options, offsets: offsets, connection: connection)
        while let batch = try rows.next() {
          try transfer.insert(batch.rows, places: batch.places)
          try advance(position, by: batch.rows.count)
        }
        read.merge(rows.counts) { $0 + $1 }
      }
      for join in layout.joins {
        let links = try SourceLinks(
          join, layout: layout, reader: reader, options: source.options, offsets: offsets, connection: connection)
        while let batch = try links.next() {
          report.linkCount += try transfer.insert(batch, of: join.relationship)
          try advance(position, by: batch.count)
        }
        try transfer.completeLinks(of: join.relationship)
      }
      try compare(expected, read, before, try transfer.counts())
    }
    report.entities = model.entities.filter { !$0.isAbstract && numbersHeld(layout).contains($0.number) }
      .map { .init(entityName: $0.name, count: expected[$0.number] ?? 0) }.sorted { $0.entityName < $1.entityName }
    report.externalFileCount = reader.externalFileCount
    report.notes = reader.report
    report.warnings = layout.warnings
    return report
  }

  private func numbersHeld(_ layout: SourceLayout) -> Set<Int> { Set(layout.tables.flatMap { Array($0.root.subtree) }) }

  private func advance(_ position: Position, by count: Int) throws {
    position.done += count
    if cancellation.isCancelled || progress?(position.done, position.total) == false {
      throw StoreError(.importCancelled, operation: .import, path: source.url.path)
    }
  }

  /// Checks that, for every entity, the initial count, the number of rows read, and the growth of the target store are equal.
  private func compare(_ expected: [Int: Int], _ read: [Int: Int], _ before: [Int: Int], _ after: [Int: Int]) throws {
    for entity in model.entities {
      let number = entity.number
      let counts = (expected[number] ?? 0, read[number] ?? 0, (after[number] ?? 0) - (before[number] ?? 0))
      guard counts.0 == counts.1, counts.1 == counts.2 else {
        throw CoreDataImportError(.miscounted(counted: counts.0, read: counts.1, written: counts.2), entityName: entity.name)
      }
    }
  }
}
