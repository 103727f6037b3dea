import CipherData
import Foundation
import XCTest

/// The growth of a file by the first change of a row.
final class RowGrowthTests: XCTestCase {
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("growth-\(UUID().uuidString)")

  override func setUp() async throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

  override func tearDown() async throws { try? FileManager.default.removeItem(at: folder) }

  /// Runs `work` in a context, closes the store, and returns the size of its file.
  private func size(after work: (ManagedObjectContext) throws -> Void) async throws -> UInt64 {
    let url = folder.appendingPathComponent("test.store")
    let description = PersistentStoreDescription(url: url, key: .databaseKey(SecretBytes([UInt8](repeating: 7, count: 32))))
    let container = try PersistentContainer(
      name: "Test", managedObjectModel: DebianArchiveModel.managedObjectModel, classes: DebianArchiveModel.classes,
      persistentStoreDescriptions: [description])
    try await container.loadPersistentStores()
    let context = container.newBackgroundContext()
    try work(context)
    try context.save()
    try container.close()
    return try XCTUnwrap(FileManager.default.attributesOfItem(atPath: url.path)[.size] as? UInt64)
  }

  func testFirstUpdatesOfRowsSplitNoPages() async throws {
    let new = try await size { context in
      for number in 0..<3_000 {
        let package = Package(context: context)
        (package.name, package.version, package.architecture) = ("package \(number)", "1", "all")
        package.installedSize = 1_000
      }
    }
    let changed = try await size { context in
      let packages = try context.fetch(Package.all)
      XCTAssertEqual(packages.count, 3_000)
      for package in packages { package.installedSize = 2_000 }
    }
    XCTAssertEqual(changed, new)
  }
}
