import CoreData
import Foundation
import StoreKeys
import XCTest

/// Records the names of overridden functions that were called.
final class CallRecorder: @unchecked Sendable {  // the lock guards the names
  private let lock = NSLock()
  private var recorded: [String] = []
  func record(_ name: String = #function) { lock.withLock { recorded.append(name) } }
  func take() -> [String] {
    lock.withLock {
      defer { recorded = [] }
      return recorded
    }
  }
}

class RecordingContext: NSManagedObjectContext, @unchecked Sendable {
  let calls = CallRecorder()
  var failure: NSError?

  private func called(_ name: String = #function) throws {
    calls.record(name)
    if let failure { throw failure }
  }

  override func save() throws {
    try called()
    try super.save()
  }
  override func fetch(_ request: NSFetchRequest<any NSFetchRequestResult>) throws -> [Any] {
    try called()
    return try super.fetch(request)
  }
  override func count(for request: NSFetchRequest<any NSFetchRequestResult>) throws -> Int {
    try called()
    return try super.count(for: request)
  }
  @discardableResult override func execute(_ request: NSPersistentStoreRequest) throws -> NSPersistentStoreResult {
    try called()
    return try super.execute(request)
  }
  override func obtainPermanentIDs(for objects: [NSManagedObject]) throws {
    try called()
    try super.obtainPermanentIDs(for: objects)
  }
  override func existingObject(with objectID: NSManagedObjectID) throws -> NSManagedObject {
    try called()
    return try super.existingObject(with: objectID)
  }
  override func object(with objectID: NSManagedObjectID) -> NSManagedObject {
    calls.record()
    return super.object(with: objectID)
  }
  override func registeredObject(for objectID: NSManagedObjectID) -> NSManagedObject? {
    calls.record()
    return super.registeredObject(for: objectID)
  }
  override func insert(_ object: NSManagedObject) {
    calls.record()
    super.insert(object)
  }
  override func delete(_ object: NSManagedObject) {
    calls.record()
    super.delete(object)
  }
  override func refresh(_ object: NSManagedObject, mergeChanges: Bool) {
    calls.record()
    super.refresh(object, mergeChanges: mergeChanges)
  }
  override func refreshAllObjects() {
    calls.record()
    super.refreshAllObjects()
  }
  override func detectConflicts(for object: NSManagedObject) {
    calls.record()
    super.detectConflicts(for: object)
  }
  override func processPendingChanges() {
    calls.record()
    super.processPendingChanges()
  }
  override func undo() {
    calls.record()
    super.undo()
  }
  override func redo() {
    calls.record()
    super.redo()
  }
  override func reset() {
    calls.record()
    super.reset()
  }
  override func rollback() {
    calls.record()
    super.rollback()
  }
  override func perform(_ block: @escaping @Sendable () -> Void) {
    calls.record()
    super.perform(block)
  }
  override func performAndWait(_ block: () -> Void) {
    calls.record()
    super.performAndWait(block)
  }
  override func mergeChanges(fromContextDidSave notification: Notification) {
    calls.record()
    super.mergeChanges(fromContextDidSave: notification)
  }
  override func setQueryGenerationFrom(_ generation: NSQueryGenerationToken?) throws {
    try called()
    try super.setQueryGenerationFrom(generation)
  }
  override class func mergeChanges(
    fromRemoteContextSave changeNotificationData: [AnyHashable: Any], into contexts: [NSManagedObjectContext]
  ) {
    contexts.forEach { ($0 as? RecordingContext)?.calls.record() }
    super.mergeChanges(fromRemoteContextSave: changeNotificationData, into: contexts)
  }
  override var hasChanges: Bool {
    calls.record()
    return super.hasChanges
  }
  override var insertedObjects: Set<NSManagedObject> {
    calls.record()
    return super.insertedObjects
  }
  override var mergePolicy: NSMergePolicy {
    get { super.mergePolicy }
    set {
      calls.record()
      super.mergePolicy = newValue
    }
  }
  override var name: String? {
    get { super.name.map { "\($0)!" } }
    set { super.name = newValue }
  }
}

/// A container, subclassed as in applications and tests.
class RecordingContainer: NSPersistentContainer, @unchecked Sendable {
  let calls = CallRecorder()
  static let folder = FileManager.default.temporaryDirectory.appendingPathComponent("overriding-\(UUID().uuidString)")

  private lazy var recordingContext: RecordingContext = {
    let context = RecordingContext(concurrencyType: .mainQueueConcurrencyType)
    context.persistentStoreCoordinator = persistentStoreCoordinator
    return context
  }()

  override class func defaultDirectoryURL() -> URL { folder }
  override var viewContext: NSManagedObjectContext { recordingContext }
  override var name: String { "Recording" }
  override func newBackgroundContext() -> NSManagedObjectContext {
    calls.record()
    let context = super.newBackgroundContext()
    context.transactionAuthor = "background"
    return context
  }
  override func loadPersistentStores(completionHandler block: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void) {
    calls.record()
    super.loadPersistentStores(completionHandler: block)
  }
  override func performBackgroundTask(_ block: @escaping @Sendable (NSManagedObjectContext) -> Void) {
    calls.record()
    super.performBackgroundTask(block)
  }
  override var persistentStoreDescriptions: [NSPersistentStoreDescription] {
    get {
      let descriptions = super.persistentStoreDescriptions
      for description in descriptions { description.encryptionKey = .raw(SecretBytes(Array(repeating: 7, count: 32))) }
      return descriptions
    }
    set { super.persistentStoreDescriptions = newValue }
  }
}

/// A coordinator that fails to open or remove stores.
class RejectingCoordinator: NSPersistentStoreCoordinator, @unchecked Sendable {
  static let refusal = NSError(domain: "RejectingCoordinator", code: 1)

  override func addPersistentStore(
    ofType storeType: String, configurationName configuration: String?, at storeURL: URL?, options: [AnyHashable: Any]? = nil
  ) throws -> NSPersistentStore { throw Self.refusal }
  override func addPersistentStore(
    with description: NSPersistentStoreDescription, completionHandler: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void
  ) { completionHandler(description, Self.refusal) }
  override func destroyPersistentStore(at url: URL, ofType storeType: String, options: [AnyHashable: Any]? = nil) throws {
    throw Self.refusal
  }
  override func remove(_ store: NSPersistentStore) throws { throw Self.refusal }
  override var persistentStores: [NSPersistentStore] { [] }
}

/// An object that records the calls of its overrides.
class RecordingObject: NSManagedObject {
  static let calls = CallRecorder()

  override func awakeFromInsert() {
    super.awakeFromInsert()
    Self.calls.record()
  }
  override func awakeFromFetch() {
    super.awakeFromFetch()
    Self.calls.record()
  }
  override func willSave() {
    super.willSave()
    Self.calls.record()
  }
  override func didSave() {
    super.didSave()
    Self.calls.record()
  }
  override func prepareForDeletion() {
    super.prepareForDeletion()
    Self.calls.record()
  }
  override func willTurnIntoFault() {
    super.willTurnIntoFault()
    Self.calls.record()
  }
  override func didTurnIntoFault() {
    super.didTurnIntoFault()
    Self.calls.record()
  }
  override func willChangeValue(forKey key: String) {
    super.willChangeValue(forKey: key)
    Self.calls.record("willChange \(key)")
  }
  override func didChangeValue(forKey key: String) {
    super.didChangeValue(forKey: key)
    Self.calls.record("didChange \(key)")
  }
  override func willAccessValue(forKey key: String?) {
    super.willAccessValue(forKey: key)
    Self.calls.record("willAccess \(key ?? "")")
  }
  override func didAccessValue(forKey key: String?) {
    super.didAccessValue(forKey: key)
    Self.calls.record("didAccess \(key ?? "")")
  }
  override func primitiveValue(forKey key: String) -> Any? { super.primitiveValue(forKey: key).map { "<\($0)>" } }
  override func setPrimitiveValue(_ value: Any?, forKey key: String) { super.setPrimitiveValue("\(value ?? "")!", forKey: key) }
  override func value(forKey key: String) -> Any? { super.value(forKey: key) ?? "none" }
  override func changedValues() -> [String: Any] { super.changedValues().filter { $0.key != "size" } }
  override func committedValues(forKeys keys: [String]?) -> [String: Any] {
    super.committedValues(forKeys: keys).filter { $0.key != "size" }
  }
}

/// Subclasses of containers, coordinators, contexts and objects override the same members as applications and their test doubles.
final class OverridingTests: XCTestCase {
  private let model: NSManagedObjectModel = {
    let model = NSManagedObjectModel.named("Box", attributes: ["name", "size"])
    model.entities.first?.managedObjectClassName = NSStringFromClass(RecordingObject.self)
    return model
  }()

  override func setUp() { try? FileManager.default.createDirectory(at: RecordingContainer.folder, withIntermediateDirectories: true) }

  override func tearDown() { try? FileManager.default.removeItem(at: RecordingContainer.folder) }

  private func loaded() throws -> (container: RecordingContainer, context: RecordingContext) {
    let container = RecordingContainer(name: "Boxes", managedObjectModel: model)
    var failure: (any Error)?
    container.loadPersistentStores { failure = $1 }
    if let failure { throw failure }
    XCTAssertEqual(container.calls.take(), ["loadPersistentStores(completionHandler:)"])
    return (container, try XCTUnwrap(container.viewContext as? RecordingContext))
  }

  private func box(_ name: String, in context: NSManagedObjectContext) -> NSManagedObject {
    let box = NSEntityDescription.insertNewObject(forEntityName: "Box", into: context)
    box.setValue(name, forKey: "name")
    return box
  }

  func testContainersOverrideTheirContextsAndDirectory() throws {
    let (container, context) = try loaded()
    XCTAssertEqual(container.name, "Recording")
    let url = try XCTUnwrap(container.persistentStoreCoordinator.persistentStores.first?.url)
    XCTAssertEqual(url.path, RecordingContainer.folder.appendingPathComponent("Boxes.sqlite").path)
    _ = box("red", in: context)
    try context.save()
    let done = expectation(description: "background")
    container.performBackgroundTask { background in
      XCTAssertEqual(background.transactionAuthor, "background")
      XCTAssertEqual(try? background.count(for: NSFetchRequest<NSManagedObject>(entityName: "Box")), 1)
      done.fulfill()
    }
    wait(for: [done], timeout: 60)
    XCTAssertEqual(container.calls.take(), ["performBackgroundTask(_:)", "newBackgroundContext()"])
  }

  func testEveryFetchOfAContextCallsItsOverride() throws {
    let (_, context) = try loaded()
    for name in ["red", "blue"] { _ = box(name, in: context) }
    try context.save()
    _ = context.calls.take()
    let typed = NSFetchRequest<RecordingObject>(entityName: "Box")
    typed.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let boxes: [RecordingObject] = try context.fetch(typed)
    XCTAssertEqual(boxes.map { $0.value(forKey: "name") as? String }, ["blue", "red"])
    let untyped = NSFetchRequest<any NSFetchRequestResult>(entityName: "Box")
    XCTAssertEqual((try context.fetch(untyped) as? [NSManagedObject])?.count, 2)
    let dictionaries = NSFetchRequest<NSDictionary>(entityName: "Box")
    (dictionaries.resultType, dictionaries.propertiesToFetch) = (.dictionaryResultType, ["name"])
    XCTAssertEqual(Set(try context.fetch(dictionaries).compactMap { $0["name"] as? String }), ["blue", "red"])
    let ids = NSFetchRequest<NSManagedObjectID>(entityName: "Box")
    ids.resultType = .managedObjectIDResultType
    XCTAssertEqual(Set(try context.fetch(ids)), Set(boxes.map(\.objectID)))
    XCTAssertEqual(context.calls.take(), Array(repeating: "fetch(_:)", count: 4))
    XCTAssertEqual(try context.count(for: typed), 2)
    XCTAssertEqual(try context.count(for: untyped), 2)
    XCTAssertEqual(context.calls.take(), Array(repeating: "count(for:)", count: 2))
    context.failure = NSError(domain: "OverridingTests", code: 5)
    let works: [() throws -> Any] = [
      { try context.fetch(typed) as [RecordingObject] }, { try context.fetch(untyped) as [Any] }, { try context.count(for: ids) },
      { try context.save() }, { try context.execute(NSBatchUpdateRequest(entityName: "Box")) },
      { try context.existingObject(with: boxes[0].objectID) },
    ]
    for (number, work) in works.enumerated() {
      XCTAssertThrowsError(try work(), "\(number)") { XCTAssertEqual(($0 as NSError).domain, "OverridingTests", "\(number)") }
    }
  }

  func testTypedFetchRequestsReturnObjectsOfTheirClass() throws {
    try LibraryStack.with { stack in
      _ = stack.book("Emma", pages: 5)
      // As in Core Data, `Book` has two functions with that name: one for its own objects, and one for any results.
      let books = try stack.context.fetch(Book.fetchRequest())
      XCTAssertEqual(books.first?.pages, 5)
      XCTAssertEqual(try stack.context.count(for: Book.fetchRequest()), 1)
    }
  }

  func testContextsOverrideChangingMethods() throws {
    let (_, context) = try loaded()
    context.undoManager = UndoManager()
    let object = box("red", in: context)
    try context.obtainPermanentIDs(for: [object])
    XCTAssertEqual(context.insertedObjects, [object])
    XCTAssertTrue(context.hasChanges)
    try context.save()
    _ = context.object(with: object.objectID)
    _ = try context.existingObject(with: object.objectID)
    _ = context.registeredObject(for: object.objectID)
    context.detectConflicts(for: object)
    context.refresh(object, mergeChanges: true)
    context.refreshAllObjects()
    context.delete(object)
    context.processPendingChanges()
    context.undo()
    context.redo()
    context.rollback()
    context.insert(NSManagedObject(entity: object.entity, insertInto: nil))
    context.reset()
    context.mergePolicy = .rollback
    context.performAndWait {}
    context.mergeChanges(fromContextDidSave: Notification(name: .NSManagedObjectContextDidSave))
    type(of: context).mergeChanges(fromRemoteContextSave: [:], into: [context])
    try context.setQueryGenerationFrom(nil)
    let calls = context.calls.take()
    let expected = [
      "obtainPermanentIDs(for:)", "insertedObjects", "hasChanges", "save()", "object(with:)", "existingObject(with:)",
      "registeredObject(for:)", "detectConflicts(for:)", "refresh(_:mergeChanges:)", "refreshAllObjects()", "delete(_:)",
      "processPendingChanges()", "undo()", "redo()", "rollback()", "insert(_:)", "reset()", "mergePolicy", "performAndWait(_:)",
      "mergeChanges(fromContextDidSave:)", "mergeChanges(fromRemoteContextSave:into:)", "performAndWait(_:)", "setQueryGenerationFrom(_:)",
    ]
    XCTAssertEqual(calls, expected)
    context.name = "view"
    XCTAssertEqual(context.name, "view!")
  }

  func testObjectsOverrideLifeCycleAndValueMethods() throws {
    let (container, context) = try loaded()
    _ = RecordingObject.calls.take()
    let object = box("red", in: context)
    XCTAssertEqual(RecordingObject.calls.take(), ["awakeFromInsert()"])
    XCTAssertEqual(object.value(forKey: "size") as? String, "none")
    XCTAssertEqual(object.primitiveValue(forKey: "name") as? String, "<red>")
    try context.save()
    XCTAssertEqual(RecordingObject.calls.take(), ["willSave()", "didSave()"])
    object.willChangeValue(forKey: "name")
    object.setPrimitiveValue("blue", forKey: "name")
    object.didChangeValue(forKey: "name")
    object.setValue("large", forKey: "size")
    XCTAssertEqual(Set(object.changedValues().keys), ["name"])
    XCTAssertEqual(object.committedValues(forKeys: nil) as? [String: String], ["name": "red"])
    object.willAccessValue(forKey: "name")
    object.didAccessValue(forKey: nil)
    XCTAssertEqual(RecordingObject.calls.take(), ["willChange name", "didChange name", "willAccess name", "didAccess "])
    try context.save()
    _ = RecordingObject.calls.take()
    context.refresh(object, mergeChanges: false)
    XCTAssertEqual(RecordingObject.calls.take(), ["willTurnIntoFault()", "didTurnIntoFault()"])
    XCTAssertNotNil(object.value(forKey: "name"))
    XCTAssertEqual(RecordingObject.calls.take(), ["awakeFromFetch()"])
    context.delete(object)
    try context.save()
    XCTAssertEqual(RecordingObject.calls.take().prefix(3), ["prepareForDeletion()", "willSave()", "didSave()"])
    withExtendedLifetime(container) {}
  }

  func testCoordinatorsCanRejectStores() throws {
    let coordinator = RejectingCoordinator(managedObjectModel: model)
    let url = RecordingContainer.folder.appendingPathComponent("refused.sqlite")
    for work in [
      { _ = try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil) },
      { try coordinator.destroyPersistentStore(at: url, ofType: NSSQLiteStoreType) },
      { _ = try coordinator.addPersistentStore(type: .inMemory, at: url) },
    ] {
      XCTAssertThrowsError(try work()) { XCTAssertEqual(($0 as NSError).domain, "RejectingCoordinator") }
    }
    var failure: (any Error)?
    coordinator.addPersistentStore(with: NSPersistentStoreDescription(url: url)) { failure = $1 }
    XCTAssertEqual((failure as NSError?)?.code, 1)
    XCTAssertEqual(coordinator.persistentStores, [])
  }
}
