import CoreData
import Foundation
import ObjectContext
import ObjectStore
import StoreKeys
import XCTest

/// An unsupported request.
private final class UnknownRequest: NSPersistentStoreRequest {}

/// The documentation lists every error number of Core Data and its mapping, and errors that an application can cause have their number.
final class ErrorNumberTests: XCTestCase {
  private static let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  /// The rows of the table: the number, its name, and the library's errors with that number.
  private static func rows() throws -> [(number: Int, name: String, errors: [String])] {
    try text("Documentation/Errors.md").split(separator: "\n").compactMap { line in
      guard let match = line.firstMatch(of: /^\| (\d+) \| `?(\w*)`? ?\| (.*) \|$/), let number = Int(match.1) else { return nil }
      return (number, String(match.2), match.3.matches(of: /`((?:StoreError|ValidationError)\.\w+)`/).map { String($0.1) })
    }
  }

  // MARK: The table

  func testTableListsEveryErrorCode() throws {
    let declared = try Self.text("Sources/CoreData/Errors/ErrorCodes.swift").matches(of: /public var (NS\w+): Int \{ ([\d_]+) \}/)
      .map { "\($0.2.replacing("_", with: "")) \($0.1)" }
    XCTAssertGreaterThan(declared.count, 40)
    XCTAssertEqual(try Self.rows().filter { !$0.name.isEmpty }.map { "\($0.number) \($0.name)" }, declared)
  }

  func testErrorTableMatchesTheMappingOfTheLibrary() throws {
    var mapped: [String: Int] = [:]
    for code in StoreError.Code.allCases {
      mapped["StoreError.\(code)"] = StoreError(code, "").coreDataCode ?? StoreError(code, "", operation: .migrate).coreDataCode
    }
    for code in ValidationError.Code.allCases { mapped["ValidationError.\(code)"] = code.rawValue }
    let listed = try Self.rows().flatMap { row in row.errors.map { ($0, row.number) } }
    XCTAssertEqual(listed.count, mapped.count)
    XCTAssertEqual(Dictionary(listed) { first, _ in first }, mapped)
  }

  // MARK: Thrown errors

  private var folder = URL(fileURLWithPath: "/dev/null")
  private var url: URL { folder.appendingPathComponent("Store.sqlite") }
  private let key: [AnyHashable: Any] = [NSPersistentStoreEncryptionKeyOption: StoreKey.raw(SecretBytes(Array(repeating: 7, count: 32)))]

  override func setUpWithError() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("numbers-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  override func tearDown() { try? FileManager.default.removeItem(at: folder) }

  private func assert(_ code: Int, line: UInt = #line, _ work: () throws -> Void) {
    XCTAssertThrowsError(try work(), line: line) { error in
      XCTAssertEqual((error as NSError).domain, NSCocoaErrorDomain, line: line)
      XCTAssertEqual((error as NSError).code, code, "\(error)", line: line)
      XCTAssertEqual((error as? CocoaError)?.code.rawValue, code, line: line)
      XCTAssertFalse(error.localizedDescription.isEmpty, line: line)
    }
  }

  /// Opens a store, runs `work` in a context, and closes the store.
  private func withStore(
    _ model: NSManagedObjectModel, _ options: [AnyHashable: Any]? = nil, _ type: String = NSSQLiteStoreType,
    _ work: (NSManagedObjectContext) throws -> Void = { _ in }
  ) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(ofType: type, configurationName: nil, at: url, options: options ?? key)
    let context = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    try work(context)
    try coordinator.remove(store)
  }

  private func box(_ name: String, in context: NSManagedObjectContext) -> NSManagedObject {
    let box = NSEntityDescription.insertNewObject(forEntityName: "Box", into: context)
    box.setValue(name, forKey: "name")
    return box
  }

  func testOpeningErrorsHaveCoreDataCodes() throws {
    let model = NSManagedObjectModel.boxes("name")
    assert(NSPersistentStoreInvalidTypeError) { try withStore(model, nil, NSBinaryStoreType) }
    assert(NSPersistentStoreInvalidTypeError) { try withStore(model, nil, "Nothing") }
    assert(NSPersistentStoreOpenError) { try withStore(model, [:]) }
    assert(NSPersistentStoreOperationError) { try withStore(model, key.merging(["NSNoOption": true as NSNumber]) { $1 }) }
    try withStore(model)
    let other = StoreKey.raw(SecretBytes(Array(repeating: 8, count: 32)))
    assert(NSPersistentStoreOpenError) { try withStore(model, [NSPersistentStoreEncryptionKeyOption: other]) }
    let fixed = key.merging([NSMigratePersistentStoresAutomaticallyOption: false as NSNumber]) { $1 }
    assert(NSPersistentStoreIncompatibleVersionHashError) { try withStore(.boxes("name", "size"), fixed) }
    try FileManager.default.removeItem(atPath: url.path + ".keys")
    assert(NSPersistentStoreOpenError) { try withStore(model) }
  }

  func testDamagedStoresHaveTheDatabaseErrorCode() throws {
    let model = NSManagedObjectModel.boxes("name")
    try withStore(model)
    // The first page is intact, so that the key opens the store.
    let contents = try Data(contentsOf: url)
    try (contents.prefix(4096) + Data(repeating: 0x5A, count: contents.count - 4096)).write(to: url)
    XCTAssertThrowsError(
      try withStore(model) { context in
        _ = box("red", in: context)
        try context.save()
      }
    ) { error in
      let code = ((error as NSError).userInfo[NSSQLiteErrorDomain] as? Int ?? 0) & 0xFF
      XCTAssertTrue([11, 26].contains(code), "\(error)")
    }
  }

  func testRequestAndObjectErrorsHaveCoreDataCodes() throws {
    try withStore(.boxes("name")) { context in
      assert(NSPersistentStoreUnsupportedRequestTypeError) { try context.execute(UnknownRequest()) }
      let object = box("red", in: context)
      try context.save()
      let id = object.objectID
      context.delete(object)
      try context.save()
      assert(NSManagedObjectReferentialIntegrityError) { _ = try context.existingObject(with: id) }
    }
  }

  func testRelationshipsBetweenStoresHaveACoreDataCode() throws {
    try LibraryStack.with { stack in
      let coordinator = stack.container.persistentStoreCoordinator
      let other = try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
      let (author, book) = (Author(context: stack.context), stack.book("Emma"))
      author.name = "Austen"
      stack.context.assign(author, to: other)
      stack.context.assign(book, to: try XCTUnwrap(coordinator.persistentStores.first { $0 != other }))
      book.author = author
      assert(NSManagedObjectExternalRelationshipError) { try stack.context.save() }
    }
  }

  func testMigrationErrorsHaveCoreDataCodes() throws {
    let (model, newer) = (NSManagedObjectModel.boxes("name"), NSManagedObjectModel.boxes("name", "size"))
    try withStore(model) { context in
      for _ in 1...2 { _ = box("red", in: context) }
      try context.save()
    }
    let unique = NSManagedObjectModel.boxes("name")
    unique.entities.first?.uniquenessConstraints = [["name"]]
    assert(NSMigrationConstraintViolationError) { try withStore(unique) }
    let number = NSManagedObjectModel.boxes("name")
    number.entities.first?.attributesByName["name"]?.attributeType = .binaryDataAttributeType
    assert(NSInferredMappingModelError) { _ = try NSMappingModel.inferredMappingModel(forSourceModel: model, destinationModel: number) }
    let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: model, destinationModel: newer)
    func migrate(from source: NSManagedObjectModel) throws {
      try NSMigrationManager(sourceModel: source, destinationModel: newer).migrateStore(
        from: url, sourceType: NSSQLiteStoreType, options: key, with: mapping,
        toDestinationURL: folder.appendingPathComponent("Migrated.sqlite"), destinationType: NSSQLiteStoreType)
    }
    assert(NSMigrationMissingSourceModelError) { try migrate(from: .boxes("name", "weight")) }
    mapping.entityMappings.first?.entityMigrationPolicyClassName = "NoSuchPolicy"
    assert(NSEntityMigrationPolicyError) { try migrate(from: model) }
  }
}
