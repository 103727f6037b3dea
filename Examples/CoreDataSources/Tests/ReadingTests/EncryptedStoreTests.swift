// The same stack with an encrypted file.
// swift-format-ignore-file
#if !canImport(ObjectiveC)
    import CoreData
    import XCTest
    import Reading

    /// The same stack with an encrypted file, on systems where the library provides `CoreData`.
    final class EncryptedStoreTests: XCTestCase {
        override func setUp() {
            NSPersistentContainer.defaultEncryptionKey = .raw(SecretBytes(Array(repeating: 3, count: 32)))
        }

        func testStoreFileContainsNoPlaintext() throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let controller = PersistenceController(url: folder.appendingPathComponent("Reading.sqlite"))
            let book = Book(context: controller.container.viewContext)
            book.title = "A title that would stand in the file"
            try controller.container.viewContext.save()
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
                let bytes = try Data(contentsOf: folder.appendingPathComponent(name))
                XCTAssertNil(bytes.range(of: Data("A title that would stand".utf8)), name)
                XCTAssertNil(bytes.range(of: Data("SQLite format 3".utf8)), name)
            }
            let coordinator = controller.container.persistentStoreCoordinator
            try coordinator.remove(coordinator.persistentStores[0])
            let again = PersistenceController(url: folder.appendingPathComponent("Reading.sqlite"))
            XCTAssertEqual(try again.container.viewContext.fetch(Book.fetchRequest()).map { $0.title }, ["A title that would stand in the file"])
        }
    }
#endif
