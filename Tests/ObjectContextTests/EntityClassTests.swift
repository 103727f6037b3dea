import Foundation
@_spi(Generated) import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Observation
import Synchronization
import XCTest

private enum State: Int16, Sendable { case open, done }

private class Item: ManagedObject, EntityClass, TypedManagedObject, FetchKeyPathNaming, Identifiable {
  var title: String {
    get { GeneratedCode.value(at: 0, of: self) }
    set { GeneratedCode.setOptionalValue(newValue, at: 0, of: self) }
  }
  var tags: [String] {
    get { GeneratedCode.value(at: 1, of: self, initial: []) }
    set { GeneratedCode.setOptionalValue(newValue, at: 1, of: self) }
  }
  /// A property of the class that the entity does not have.
  var entityNameForTests: String { "Item" }
  static var _ItemLayout: EntityLayout { EntityLayout(slots: 2, toMany: 0) }
  class var declaredEntityName: String { "Item" }
  class var entityDescription: EntityDescription {
    var declaration = EntityDeclaration("Item", class: "Item", superclass: nil, .abstract)
    declaration.attribute("title", String.self, isOptional: false, .length(1...9), .indexed)
    declaration.attribute("tags", [String].self, isOptional: false, initial: [])
    return declaration.entityDescription
  }
  class var relatedClasses: [any EntityClass.Type] { [] }
  class var relatedComposites: [any EntityComposite.Type] { [] }
  class func addKeyPaths(to names: inout KeyPathNames) { _addItemPaths(of: Item.self, to: &names) }
  static func _addItemPaths<Object: Item>(of type: Object.Type, to names: inout KeyPathNames) {
    names.add(\Object.objectID, \Object?.?.objectID, "objectID")
    names.add(\Object.title, \Object?.?.title, "title")
    names.add(\Object.tags, \Object?.?.tags, "tags")
  }
}

private final class Job: Item {
  var state: State {
    get { GeneratedCode.value(at: Item._ItemLayout.slots + 0, of: self, initial: .open) }
    set { GeneratedCode.setOptionalValue(newValue, at: Item._ItemLayout.slots + 0, of: self) }
  }
  var cost: Decimal? {
    get { GeneratedCode.optionalValue(at: Item._ItemLayout.slots + 1, of: self) }
    set { GeneratedCode.setOptionalValue(newValue, at: Item._ItemLayout.slots + 1, of: self) }
  }
  var parent: Job? {
    get { GeneratedCode.toOne(at: Item._ItemLayout.slots + 2, of: self) }
    set { GeneratedCode.setToOne(newValue, at: Item._ItemLayout.slots + 2, of: self) }
  }
  var site: Site? {
    get { GeneratedCode.optionalComposite(at: Item._ItemLayout.slots + 3, of: self) }
    set { GeneratedCode.setComposite(newValue, at: Item._ItemLayout.slots + 3, of: self) }
  }
  var rivals: [Job] { GeneratedCode.fetchedProperty("rivals", of: self) }
  var parts: Set<Job> {
    get { GeneratedCode.toManySet(at: Item._ItemLayout.toMany + 0, of: self) }
    set { GeneratedCode.setToMany(Array(newValue) as [ManagedObject], at: Item._ItemLayout.toMany + 0, of: self) }
  }
  override class var declaredEntityName: String { "Job" }
  override class var entityDescription: EntityDescription {
    var declaration = EntityDeclaration("Job", class: "Job", superclass: Item.self)
    declaration.attribute("state", State.self, isOptional: false, initial: .open)
    declaration.attribute("cost", Decimal.self, isOptional: true, .range(0...))
    declaration.toOne("parent", Job.self, inverse: "parts")
    declaration.toMany("parts", Job.self, isOrdered: false, inverse: nil, deleteRule: .cascade, .count(0...3))
    declaration.composite("site", Site.self, isOptional: true, .renamed(from: "place"))
    declaration.fetchedProperty("rivals", Job.self, where: "cost == $FETCH_SOURCE.cost AND SELF != $FETCH_SOURCE", .userInfo("a", "b"))
    return declaration.entityDescription
  }
  override class var relatedClasses: [any EntityClass.Type] { [Item.self, Job.self, Job.self] }
  override class var relatedComposites: [any EntityComposite.Type] { [Site.self] }
  override class func addKeyPaths(to names: inout KeyPathNames) {
    _addJobPaths(of: Job.self, to: &names)
    names.addIdentity(\Job.id, \Job?.?.id)
  }
  static func _addJobPaths<Object: Job>(of type: Object.Type, to names: inout KeyPathNames) {
    Item._addItemPaths(of: type, to: &names)
    names.add(\Object.state, \Object?.?.state, "state")
    names.add(\Object.cost, \Object?.?.cost, "cost")
    names.add(\Object.parent, \Object?.?.parent, "parent")
    names.add(\Object.parts, \Object?.?.parts, "parts")
    names.add(\Object.site, \Object?.?.site, "site")
  }
}

private struct Spot: EntityComposite, Hashable {
  var row: Int
  var state: State?
  var tags: [String]
  init(row: Int, state: State? = nil, tags: [String] = []) { (self.row, self.state, self.tags) = (row, state, tags) }
  init(of object: ManagedObject, at slot: Int) {
    row = GeneratedCode.value(at: slot, of: object)
    state = GeneratedCode.optionalValue(at: slot + 1, of: object)
    tags = GeneratedCode.value(at: slot + 2, of: object, initial: [])
  }
  func write(to object: ManagedObject, at slot: Int) {
    GeneratedCode.setPart(row, at: slot, of: object)
    GeneratedCode.setPart(state, at: slot + 1, of: object)
    GeneratedCode.setPart(tags, at: slot + 2, of: object)
  }
  static var slotCount: Int { 3 }
  static var partNames: [String] { ["row", "state", "tags"] }
  static var declaredCompositeName: String { "Spot" }
  static var compositeDescription: CompositeDescription {
    var declaration = EntityDeclaration(composite: "Spot")
    declaration.attribute("row", Int.self, isOptional: false, .range(1...))
    declaration.attribute("state", State.self, isOptional: true)
    declaration.attribute("tags", [String].self, isOptional: true)
    return declaration.compositeDescription()
  }
  static var relatedComposites: [any EntityComposite.Type] { [] }
  static func addKeyPaths(to names: inout KeyPathNames) {
    names.add(\Spot.row, \Spot?.?.row, "row")
    names.add(\Spot.state, \Spot?.?.state, "state")
    names.add(\Spot.tags, \Spot?.?.tags, "tags")
  }
}

private struct Site: EntityComposite, Hashable {
  var city: String?
  var spot: Spot?
  init(city: String? = nil, spot: Spot? = nil) { (self.city, self.spot) = (city, spot) }
  init(of object: ManagedObject, at slot: Int) {
    city = GeneratedCode.optionalValue(at: slot, of: object)
    spot = GeneratedCode.optionalComposite(at: slot + 1, of: object)
  }
  func write(to object: ManagedObject, at slot: Int) {
    GeneratedCode.setPart(city, at: slot, of: object)
    GeneratedCode.setComposite(spot, at: slot + 1, of: object)
  }
  static var slotCount: Int { 1 + Spot.slotCount }
  static var partNames: [String] { ["city"] + Spot.partNames.map { "spot." + $0 } }
  static var declaredCompositeName: String { "Site" }
  static var compositeDescription: CompositeDescription {
    var declaration = EntityDeclaration(composite: "Site")
    declaration.attribute("city", String.self, isOptional: true)
    declaration.composite("spot", Spot.self, isOptional: true)
    return declaration.compositeDescription(.userInfo("kind", "inner"))
  }
  static var relatedComposites: [any EntityComposite.Type] { [Spot.self] }
  static func addKeyPaths(to names: inout KeyPathNames) {
    names.add(\Site.city, \Site?.?.city, "city")
    names.add(\Site.spot, \Site?.?.spot, "spot")
  }
}

/// Classes that declare their entities, in the form that `@Entity` expands to.
final class EntityClassTests: XCTestCase {
  func testModelOfClassesEqualsThatOfTheBuilder() throws {
    let built = ManagedObjectModel(version: "1") {
      Entity("Job", class: "Job", parent: "Item") {
        Attribute("state", raw: State.self).required().initially(State.open)
        Attribute("cost", .decimal).range(Decimal(0)...)
        Relationship("parent", to: "Job", inverse: "parts")
        Relationship("parts", toMany: "Job", inverse: "parent").onDelete(.cascade).count(0...3)
        Attribute("site", composite: "Site").renamed(from: "place")
        FetchedProperty("rivals", entity: "Job", where: "cost == $FETCH_SOURCE.cost AND SELF != $FETCH_SOURCE").userInfo("a", "b")
      }
      Entity("Item", class: "Item", abstract: true) {
        Attribute("title", .string).required().length(1...9)
        Attribute("tags", transforming: [String].self).required().initially(Data("[]".utf8))
        Index("byTitle", on: "title")
      }
      Composite("Site") {
        Attribute("city", .string)
        Attribute("spot", composite: "Spot")
      }.userInfo("kind", "inner")
      Composite("Spot") {
        Attribute("row", .integer64).required().range(1...)
        Attribute("state", raw: State.self)
        Attribute("tags", transforming: [String].self)
      }
    }
    XCTAssertEqual(ManagedObjectModel(version: "1", Job.self), built)
    XCTAssertEqual(built.validationIssues(), [])
    XCTAssertEqual([Job.entityName, Item.entityName], ["Job", "Item"])
  }

  func testDerivedAttributeOfAClassCanHaveAFilter() {
    var declaration = EntityDeclaration("Job", class: "Job", superclass: nil)
    declaration.attribute("cheap", Int64.self, isOptional: true, .derived("parts.@count", where: "cost < 10"))
    declaration.attribute("all", Int64.self, isOptional: true, .derived("parts.@count"))
    let attributes = declaration.entityDescription.attributes
    XCTAssertEqual(attributes.map(\.derivationExpression), ["parts.@count", "parts.@count"])
    XCTAssertEqual(attributes.map(\.derivationFilter), ["cost < 10", nil])
  }

  func testAttributeOfAClassCanHaveAMergeRule() {
    var declaration = EntityDeclaration("Job", class: "Job", superclass: nil)
    declaration.attribute("votes", Int64.self, isOptional: false, .syncMergeRule(.counter))
    XCTAssertEqual(declaration.entityDescription.attributes.map(\.syncMergeRule), [.counter])
  }

  func testObjectsOfTheClassesAreObserved() async throws {
    let container = try PersistentContainer(
      name: "Test", managedObjectModel: ManagedObjectModel(Job.self), classes: ManagedObjectClasses(Job.self),
      persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    let context = container.newBackgroundContext()
    context.tracksObservation = true
    let job = Job(context: context)
    job.title = "a"
    let part = Job(context: context)
    part.title = "b"
    try context.save()
    let reported = Mutex<[String]>([])
    /// Reads, and records the name when observation reports a change.
    func track(_ name: String, _ read: () -> Void) {
      withObservationTracking(read) { reported.withLock { $0.append(name) } }
    }
    track("state") { _ = job.state }
    track("cost") { _ = job.cost }
    track("tags") { _ = job.tags }
    track("parts") { _ = job.parts }
    track("parent") { _ = part.parent }
    track("site") { _ = job.site }
    track("title") { _ = job.title }
    track("site of the part") { _ = part.site }
    job.state = .done
    job.cost = 3
    job.tags = ["x"]
    job.site = Site(spot: Spot(row: 2))
    part.parent = job
    context.processPendingChanges()
    XCTAssertEqual(reported.withLock { $0.sorted() }, ["cost", "parent", "parts", "site", "state", "tags"])
    XCTAssertEqual(job.site, Site(spot: Spot(row: 2)))
    XCTAssertEqual(job.tags, ["x"])
  }

  func testObjectsOfTheClassesHaveSnapshots() async throws {
    let container = try PersistentContainer(
      name: "Test", managedObjectModel: ManagedObjectModel(Job.self), classes: ManagedObjectClasses(Job.self),
      persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    let context = container.newBackgroundContext()
    let job = Job(context: context)
    job.title = "a"
    job.tags = ["x"]
    job.state = .done
    job.cost = 3
    try context.save()
    var snapshot = try job.snapshot(including: ["parts"])
    XCTAssertEqual(try snapshot.value("state", as: State.self), .done)
    XCTAssertEqual(try snapshot.value("tags", as: [String].self), ["x"])
    XCTAssertEqual(try snapshot["parts"] as? [ManagedObjectID], [])
    try snapshot.setValue(State.open, forKey: "state")
    try snapshot.setValue(["y", "z"], forKey: "tags")
    try snapshot.setValue(["city": "Oslo"] as [String: any Sendable], forKey: "site")
    let edited = snapshot
    let applied = try await Task.detached { try JSONDecoder().decode(ObjectSnapshot.self, from: JSONEncoder().encode(edited)) }.value
    XCTAssertIdentical(try context.apply(applied), job)
    XCTAssertEqual(job.state, .open)
    XCTAssertEqual(job.tags, ["y", "z"])
    XCTAssertEqual(job.site?.city, "Oslo")
    XCTAssertEqual(try context.fetch(Job.all, as: ObjectSnapshot.self).map { try $0.value("state", as: State.self) }, [.open])
  }

  func testObjectsOfTheClassesWork() async throws {
    let container = try PersistentContainer(
      name: "Test", managedObjectModel: ManagedObjectModel(Job.self), classes: ManagedObjectClasses(Job.self),
      persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    let context = container.newBackgroundContext()
    let job = Job(context: context)
    XCTAssertEqual(job.state, .open)
    XCTAssertEqual(job.tags, [])
    job.title = "a"
    job.tags = ["x"]
    job.cost = 2
    job.state = .done
    let part = Job(context: context)
    part.title = "b"
    part.parent = job
    XCTAssertEqual(job.parts, [part])
    try context.save()
    let request = Job.all.where { $0[\.state] == .done && $0[\.cost] > 1 && $0[\.parts].any { $0[\.title] == "b" } && $0[\.parent] == nil }
    XCTAssertEqual(
      request.predicate,
      try FetchPredicate(format: "state == 1 AND cost > 1 AND SUBQUERY(parts, $x1, $x1.title == 'b').@count > 0 AND parent == nil"))
    XCTAssertEqual(try context.fetch(request), [job])
    XCTAssertEqual(try context.count(for: Item.all.where { $0.is(Job.self) && $0[\.title] != "a" }), 1)
    XCTAssertEqual(try context.fetch(Job.all.where { $0[\.parent][\.title] == "a" }.sorted { $0[\.title] }).map(\.title), ["b"])
    try job.setValue(Int16(9), forKey: "state")
    XCTAssertEqual(job.state, .open)
    // A property that is not in the model is an error of the fetch.
    XCTAssertThrowsError(try context.fetch(Job.all.where { $0[\.entityNameForTests] == "x" }))
  }

  func testCompositesAndFetchedPropertiesOfTheClassesWork() async throws {
    let model = ManagedObjectModel(Job.self) { Configuration("Some", entities: "Job") }
    XCTAssertEqual(model.configurations.map(\.name), ["Some"])
    let container = try PersistentContainer(
      name: "Test", managedObjectModel: model, classes: ManagedObjectClasses(Job.self),
      persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    let context = container.newBackgroundContext()
    let (job, other) = (Job(context: context), Job(context: context))
    for (index, job) in [job, other].enumerated() {
      job.title = "\(index)"
      job.cost = 1
    }
    XCTAssertNil(job.site)
    job.site = Site(city: "Bath", spot: Spot(row: 4, state: .done, tags: ["x"]))
    try context.save()
    XCTAssertEqual(job.rivals, [other])
    XCTAssertEqual(job.id, job.objectID)
    context.reset()
    let request = Job.all.where { $0[\.site][\.city] == "Bath" && $0[\.site][\.spot][\.row] > 3 && $0[\.site][\.spot][\.state] == .done }
    XCTAssertEqual(request.predicate, try FetchPredicate(format: "site.city == 'Bath' AND site.spot.row > 3 AND site.spot.state == 1"))
    let found = try XCTUnwrap(context.fetch(request).first)
    XCTAssertEqual(found.site, Site(city: "Bath", spot: Spot(row: 4, state: .done, tags: ["x"])))
    XCTAssertEqual(try context.count(for: Job.all.where { $0[\.site] == nil }), 1)
    XCTAssertEqual(try context.count(for: Job.all.where { $0[\.site][\.spot] != nil && $0[\.site][\.spot][\.tags] != nil }), 1)
    XCTAssertEqual(try context.count(for: Job.all.where { $0[\.tags] != nil }), 2)
    let id = found.id
    let predicate = try FetchPredicate(#Predicate<Job> { $0.site?.spot?.row == 4 && $0.id == id })
    XCTAssertEqual(predicate, try FetchPredicate(format: "site.spot.row == 4 AND SELF == %@", id))
    found.site?.spot = nil
    XCTAssertEqual(found.changedValues().keys.sorted(), ["site.spot.row", "site.spot.state", "site.spot.tags"])
    found.site?.spot = Spot(row: 0)
    XCTAssertThrowsError(try context.save())
    found.site = nil
    try context.save()
    XCTAssertNil(found.site)
  }

  func testClassesRejectOtherModels() {
    var model = ManagedObjectModel(Job.self)
    model.entities[0].properties.reverse()
    XCTAssertThrowsError(
      try PersistentContainer(name: "Test", managedObjectModel: model, classes: ManagedObjectClasses(Job.self)))
  }
}
