import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest

@testable import SQLCipherStore

/// A migration's progress fraction rises during the application's code in custom stages and mapping models.
final class StageProgressTests: XCTestCase {
  private static let count = 6_000

  private func library() throws -> MigratingStore {
    try MigratingStore.make(Self.version(1)) { context in
      for index in 0..<Self.count { try context.make("Book", ["title": "t\(index)"]) }
      for index in 0..<40 { try context.make("Author", ["name": "n\(index)"]) }
    }
  }

  /// Migrates a library from version 1 to version 2, and returns the reported fractions.
  private func fractions(_ change: (inout PersistentStoreDescription) -> Void) throws -> [Double] {
    let reports = Mutex<[MigrationProgress]>([])
    try library().open(Self.version(2)) { description in
      change(&description)
      description.migrationProgress = { report in reports.withLock { $0.append(report) } }
    } _: { context in
      XCTAssertEqual(try context.count(for: FetchRequest<ManagedObject>(entityName: "Book")), Self.count)
    }
    return reports.withLock { $0.map(\.fractionCompleted) }
  }

  private func fractions(ofStage change: (inout CustomMigrationStage) -> Void) throws -> [Double] {
    var stage = CustomMigrationStage(
      migratingFrom: ManagedObjectModelReference(Self.version(1)), to: ManagedObjectModelReference(Self.version(2)))
    change(&stage)
    return try fractions { [stage] in $0.stagedMigrationManager = StagedMigrationManager([stage]) }
  }

  /// Tables are copied in batches of a third of the books. No step may exceed one batch.
  private func assertRises(_ fractions: [Double], mostAtOnce: Double, line: UInt = #line) {
    XCTAssertEqual(fractions, fractions.sorted(), line: line)
    XCTAssertEqual(fractions.filter { $0 == 1 }.count, 1, line: line)
    XCTAssertEqual(fractions.last, 1, line: line)
    let steps = zip([0] + fractions, fractions).map { $1 - $0 }
    XCTAssertLessThan(steps.max() ?? 1, mostAtOnce, "\(fractions)", line: line)
  }

  func testEnumeratingChangedObjectsIsTheStageProgress() throws {
    let fractions = try fractions(ofStage: { stage in
      stage.handler = { migration in try migration.forEach("Book") { _, new in try new.setValue("x", forKey: "added") } }
    })
    assertRises(fractions, mostAtOnce: 0.18)
  }

  func testEnumerationsShareProgressByObjectCount() throws {
    let fractions = try fractions(ofStage: { stage in
      stage.handler = { migration in
        // Authors do not change and are few, so their pass is short.
        try migration.forEach("Author") { _, _ in }
        try migration.forEachSource("Book") { _ in }
        try migration.forEach("Book") { _, new in try new.setValue("x", forKey: "added") }
      }
    })
    assertRises(fractions, mostAtOnce: 0.18)
  }

  func testNestedEnumerationDoesNotAffectOuterProgress() throws {
    let fractions = try fractions(ofStage: { stage in
      stage.handler = { migration in
        var visited = 0
        try migration.forEach("Book") { _, new in
          visited += 1
          if visited % 500 == 0 { try migration.forEachSource("Author") { _ in migration.report(1, of: 3) } }
          try new.setValue("x", forKey: "added")
        }
      }
    })
    assertRises(fractions, mostAtOnce: 0.18)
  }

  func testHandlerProgressUnitsAreReported() throws {
    let fractions = try fractions(ofStage: { stage in
      stage.handler = { migration in for unit in 1...50 { migration.report(unit, of: 50) } }
    })
    assertRises(fractions, mostAtOnce: 0.18)
  }

  func testHandlersThatFetchAndSaveReportProgressByRows() throws {
    let fractions = try fractions(ofStage: { stage in
      stage.willMigrateHandler = { older in
        try older.enumerateBatches(of: FetchRequest<ManagedObject>(entityName: "Book"), size: 250) { books, _ in
          for book in books { try book.setValue("y", forKey: "title") }
          try older.save()
        }
      }
      stage.handler = { migration in
        try migration.destination.enumerateBatches(of: FetchRequest<ManagedObject>(entityName: "Book"), size: 250) { books, _ in
          for book in books { try book.setValue("x", forKey: "added") }
          try migration.destination.save()
        }
      }
      stage.didMigrateHandler = { newer in
        try newer.enumerateBatches(of: FetchRequest<ManagedObject>(entityName: "Book"), size: 250) { books, _ in
          for book in books { XCTAssertEqual(book["added"] as? String, "x") }
        }
      }
    })
    assertRises(fractions, mostAtOnce: 0.18)
  }

  func testMappingModelReportsProgressOfObjectsAndRelationships() throws {
    let mappings = mappingModel([EntityMapping(.copy, from: "Author", to: "Author"), EntityMapping(.copy, from: "Book", to: "Book")])
    assertRises(try fractions { $0.mappingModels = [mappings] }, mostAtOnce: 0.08)
  }

  private func mappingModel(_ mappings: [EntityMapping]) -> MappingModel {
    MappingModel(mappings, from: ManagedObjectModelReference(Self.version(1)), to: ManagedObjectModelReference(Self.version(2)))
  }

  /// Makes a second object for every other one.
  private final class EveryOther: EntityMigrationPolicy {
    var number = 0
    override func createDestinationInstances(forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager) throws {
      number += 1
      try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
      if number % 2 == 0 { _ = try manager.insertDestinationInstance(for: source, in: mapping) }
    }
  }

  func testMappingThatSplitsObjectsReportsProgress() throws {
    let mappings = mappingModel([
      EntityMapping(
        .copy, from: "Book", to: "Author", attributeMappings: [PropertyMapping(name: "name", sourceKeyPath: "title")],
        policy: EveryOther.self),
      EntityMapping(.copy, from: "Book", to: "Book"),
      EntityMapping(.remove, from: "Author"),
    ])
    assertRises(try fractions { $0.mappingModels = [mappings] }, mostAtOnce: 0.08)
  }

  func testStageWithAMappingModelAndHandlersSharesProgress() throws {
    let mappings = mappingModel([EntityMapping(.copy, from: "Author", to: "Author"), EntityMapping(.copy, from: "Book", to: "Book")])
    let fractions = try fractions(ofStage: { stage in
      stage.mappingModel = mappings
      stage.handler = { migration in
        try migration.destination.enumerateBatches(of: FetchRequest<ManagedObject>(entityName: "Book"), size: 250) { books, _ in
          for book in books { try book.setValue("x", forKey: "added") }
          try migration.destination.save()
        }
      }
      stage.didMigrateHandler = { newer in
        try newer.enumerateBatches(of: FetchRequest<ManagedObject>(entityName: "Book"), size: 250) { _, _ in }
      }
    })
    assertRises(fractions, mostAtOnce: 0.18)
  }

  func testFinalIndexCreationReportsProgress() throws {
    var indexed = Self.version(2)
    let names = ["title", "added"]
    let book = try XCTUnwrap(indexed.entities.firstIndex { $0.name == "Book" })
    for name in names {
      for number in 0..<4 {
        indexed.entities[book].indexes.append(
          FetchIndexDescription(name: "by\(name)\(number)", elements: [FetchIndexElement(property: name)]))
      }
    }
    let reports = Mutex<[Double]>([])
    try library().open(indexed) { description in
      description.migrationProgress = { report in reports.withLock { $0.append(report.fractionCompleted) } }
    } _: { _ in
    }
    assertRises(reports.withLock { $0 }, mostAtOnce: 0.34)
    XCTAssertGreaterThan(Set(reports.withLock { $0 }).count, 8)
  }

  /// Books that gain an attribute in the second version, and authors that stay the same.
  private static func version(_ number: Int) -> ManagedObjectModel {
    ManagedObjectModel {
      Entity("Book") {
        Attribute("title", .string)
        if number == 2 { Attribute("added", .string) }
      }
      Entity("Author") { Attribute("name", .string) }
    }
  }
}
