import CipherData
import Foundation
import XCTest
import _AllocationCounter

#if CIPHERDATA_CHECKS
  import ObjectModel
  import Synchronization
#endif

/// The number of allocations in normal use: generated classes in a module, default settings, an encrypted store. The limits are 20 % above
/// the counts of a debug build, in which the tests run; a release build allocates less. On systems where allocations cannot be counted, all
/// counts are 0.
final class AllocationTests: XCTestCase {
  private static let count = 400
  private var folder = FileManager.default.temporaryDirectory
  private var container: PersistentContainer?

  /// Inserts packages, each in a section of its own.
  override func setUp() async throws {
    #if CIPHERDATA_CHECKS
      CheckThrottle.arePaused.store(true, ordering: .relaxed)
    #endif
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("allocations-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let description = PersistentStoreDescription(
      url: folder.appendingPathComponent("test.store"), key: .databaseKey(SecretBytes([UInt8](repeating: 7, count: 32))))
    let container = try PersistentContainer(
      name: "Test", managedObjectModel: DebianArchiveModel.managedObjectModel, classes: DebianArchiveModel.classes,
      persistentStoreDescriptions: [description])
    try await container.loadPersistentStores()
    self.container = container
    let context = container.newBackgroundContext()
    for number in 0..<Self.count { insert(number, context) }
    try context.save()
  }

  override func tearDown() async throws {
    #if CIPHERDATA_CHECKS
      CheckThrottle.arePaused.store(false, ordering: .relaxed)
    #endif
    try container?.close()
    container = nil
    try? FileManager.default.removeItem(at: folder)
  }

  private func insert(_ number: Int, _ context: ManagedObjectContext) {
    let section = Section(context: context)
    section.name = "the section with the number \(number)"
    let package = Package(context: context)
    package.name = "the package with the number \(number)"
    package.version = "1"
    package.architecture = "all"
    package.installedSize = Int64(number)
    package.section = section
  }

  private func makeContext() throws -> ManagedObjectContext { try XCTUnwrap(container).newBackgroundContext() }

  private func packages(_ count: Int, _ context: ManagedObjectContext) throws -> [Package] {
    try context.fetch(Package.all.limit(count))
  }

  /// The allocations of `work`: the minimum of several runs, since other threads are counted too.
  private func least(_ work: () throws -> Int) rethrows -> Int {
    var least = Int.max
    for _ in 0..<5 { least = min(least, try work()) }
    return least
  }

  private func counted(_ work: () throws -> Void) rethrows -> Int {
    allocation_counter_start()
    defer { _ = allocation_counter_stop() }
    try work()
    return Int(allocation_counter_stop().allocations)
  }

  /// The allocations per item: the difference between all items and half of them, without one-time allocations.
  private func each(_ work: (Int) throws -> Int) rethrows -> Double {
    let half = Self.count / 2
    return Double(try least { try work(Self.count) } - least { try work(half) }) / Double(Self.count - half)
  }

  private func assert(_ found: Double, atMost bound: Double, _ line: UInt = #line) {
    XCTAssertLessThanOrEqual(found, bound, line: line)
  }

  func testAllocationsOfToOneTraversal() throws {
    let found = try each { count in
      let context = try makeContext()
      let packages = try packages(count, context)
      for package in packages { _ = package.section?.name }
      var reached = 0
      let found = counted { for package in packages where package.section != nil { reached += 1 } }
      XCTAssertEqual(reached, count)
      return found
    }
    assert(found, atMost: 1.2)
  }

  func testAllocationsOfFiringAFault() throws {
    let found = try each { count in
      let context = try makeContext()
      let packages = try packages(count, context)
      var length = 0
      let found = counted { for package in packages { length += package.section?.name.utf8.count ?? 0 } }
      XCTAssertGreaterThan(length, count)
      return found
    }
    assert(found, atMost: 17)
  }

  func testAllocationsOfAFetchedRow() throws {
    let found = try each { count in
      let context = try makeContext()
      var packages: [Package] = []
      let found = try counted { packages = try self.packages(count, context) }
      XCTAssertEqual(packages.count, count)
      return found
    }
    assert(found, atMost: 47)
  }

  func testAllocationsOfFirstAndLaterWrites() throws {
    let first = try each { count in
      let context = try makeContext()
      let packages = try packages(count, context)
      return counted { for package in packages { package.downloadSize = 5 } }
    }
    let next = try each { count in
      let context = try makeContext()
      let packages = try packages(count, context)
      for package in packages { package.downloadSize = 5 }
      return counted { for package in packages { package.downloadSize = 6 } }
    }
    assert(first, atMost: 31)
    assert(next, atMost: 1.2)
  }

  func testAllocationsOfAnInsertedObjectAndItsSave() throws {
    let inserted = try each { count in
      let context = try makeContext()
      return counted { for _ in 0..<count { Section(context: context).name = "section" } }
    }
    assert(inserted, atMost: 40)
    let saved = try each { count in
      let context = try makeContext()
      let packages = try packages(count, context)
      for package in packages { package.downloadSize = (package.downloadSize ?? 0) + 1 }
      return try counted { try context.save() }
    }
    assert(saved, atMost: 41)
  }

  func testAllocationsOfSavingOneObject() throws {
    let context = try makeContext()
    let package = try XCTUnwrap(try packages(1, context).first)
    let found = try least {
      try counted {
        package.installedSize = (package.installedSize ?? 0) + 1
        try context.save()
      }
    }
    // If other tests in the process have observed saves, notifications are assembled too.
    assert(Double(found), atMost: 190)
  }

  func testAllocationsOfAnObjectSnapshot() throws {
    let found = try each { count in
      let context = try makeContext()
      let packages = try packages(count, context)
      for package in packages { _ = package.name }
      var length = 0
      let found = try counted { for package in packages { length += try package.snapshot().untyped.version > 0 ? 1 : 0 } }
      XCTAssertEqual(length, count)
      return found
    }
    assert(found, atMost: 1.2)
  }

  func testAllocationsOfAFetchedSnapshot() throws {
    let found = try each { count in
      let context = try makeContext()
      var snapshots: [Package.Snapshot] = []
      let found = try counted { snapshots = try context.fetch(Package.all.limit(count), as: Package.Snapshot.self) }
      XCTAssertEqual(snapshots.count, count)
      return found
    }
    assert(found, atMost: 40)
  }

  func testAllocationsOfRequests() throws {
    let context = try makeContext()
    let (all, large) = (Package.all, Package.all.where { $0.installedSize > 200 })
    var count = 0
    assert(Double(try least { try counted { count = try context.count(for: all) } }), atMost: 18)
    XCTAssertEqual(count, Self.count)
    assert(Double(try least { try counted { count = try context.count(for: large) } }), atMost: 40)
    XCTAssertEqual(count, 199)
    let one = Package.all.where { $0.name == "the package with the number 7" }
    assert(Double(try least { try counted { count = try context.fetch(one).count } }), atMost: 95)
    XCTAssertEqual(count, 1)
  }
}
