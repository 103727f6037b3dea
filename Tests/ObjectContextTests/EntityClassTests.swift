// EntityClassTests: classes that declare their entities, written out as @Entity would write them.
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

private enum State: Int16, Sendable { case open, done }

private class Item: ManagedObject, EntityClass, TypedManagedObject, FetchKeyPathNaming {
  var title: String {
    get { entityValue(0) }
    set { setEntityValue(newValue, at: 0) }
  }
  var tags: [String] {
    get { entityValue(1, initial: []) }
    set { setEntityValue(newValue, at: 1) }
  }
  /// A property of the class that is none of the entity.
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
  class func addKeyPaths(to names: inout KeyPathNames) { _addItemPaths(of: Item.self, to: &names) }
  static func _addItemPaths<Object: Item>(of type: Object.Type, to names: inout KeyPathNames) {
    names.add(\Object.objectID, \Object?.?.objectID, "objectID")
    names.add(\Object.title, \Object?.?.title, "title")
    names.add(\Object.tags, \Object?.?.tags, "tags")
  }
}

private final class Job: Item {
  var state: State {
    get { entityValue(Item._ItemLayout.slots + 0, initial: .open) }
    set { setEntityValue(newValue, at: Item._ItemLayout.slots + 0) }
  }
  var cost: Decimal? {
    get { optionalEntityValue(Item._ItemLayout.slots + 1) }
    set { setEntityValue(newValue, at: Item._ItemLayout.slots + 1) }
  }
  var parent: Job? {
    get { toOne(Item._ItemLayout.slots + 2) }
    set { setToOne(newValue, at: Item._ItemLayout.slots + 2) }
  }
  var parts: Set<Job> {
    get { toManySet(Item._ItemLayout.toMany + 0) }
    set { setToMany(Array(newValue) as [ManagedObject], at: Item._ItemLayout.toMany + 0) }
  }
  override class var declaredEntityName: String { "Job" }
  override class var entityDescription: EntityDescription {
    var declaration = EntityDeclaration("Job", class: "Job", superclass: Item.self)
    declaration.attribute("state", State.self, isOptional: false, initial: .open)
    declaration.attribute("cost", Decimal.self, isOptional: true, .range(0...))
    declaration.toOne("parent", Job.self, inverse: "parts")
    declaration.toMany("parts", Job.self, isOrdered: false, inverse: nil, deleteRule: .cascade, .count(0...3))
    return declaration.entityDescription
  }
  override class var relatedClasses: [any EntityClass.Type] { [Item.self, Job.self, Job.self] }
  override class func addKeyPaths(to names: inout KeyPathNames) { _addJobPaths(of: Job.self, to: &names) }
  static func _addJobPaths<Object: Job>(of type: Object.Type, to names: inout KeyPathNames) {
    Item._addItemPaths(of: type, to: &names)
    names.add(\Object.state, \Object?.?.state, "state")
    names.add(\Object.cost, \Object?.?.cost, "cost")
    names.add(\Object.parent, \Object?.?.parent, "parent")
    names.add(\Object.parts, \Object?.?.parts, "parts")
  }
}

final class EntityClassTests: XCTestCase {
  func testTheModelOfClassesIsThatOfTheBuilder() throws {
    let built = ManagedObjectModel(version: "1") {
      Entity("Job", class: "Job", parent: "Item") {
        Attribute("state", raw: State.self).required().initially(State.open)
        Attribute("cost", .decimal).range(Decimal(0)...)
        Relationship("parent", to: "Job", inverse: "parts")
        Relationship("parts", toMany: "Job", inverse: "parent").onDelete(.cascade).count(0...3)
      }
      Entity("Item", class: "Item", abstract: true) {
        Attribute("title", .string).required().length(1...9)
        Attribute("tags", transforming: [String].self).required().initially(Data("[]".utf8))
        Index("byTitle", on: "title")
      }
    }
    XCTAssertEqual(ManagedObjectModel(version: "1", Job.self), built)
    XCTAssertEqual(built.validationIssues(), [])
    XCTAssertEqual([Job.entityName, Item.entityName], ["Job", "Item"])
  }

  func testADerivedAttributeOfAClassMayHaveAFilter() {
    var declaration = EntityDeclaration("Job", class: "Job", superclass: nil)
    declaration.attribute("cheap", Int64.self, isOptional: true, .derived("parts.@count", where: "cost < 10"))
    declaration.attribute("all", Int64.self, isOptional: true, .derived("parts.@count"))
    let attributes = declaration.entityDescription.attributes
    XCTAssertEqual(attributes.map(\.derivationExpression), ["parts.@count", "parts.@count"])
    XCTAssertEqual(attributes.map(\.derivationFilter), ["cost < 10", nil])
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
    // A property that is none of the model's is an error of the fetch.
    XCTAssertThrowsError(try context.fetch(Job.all.where { $0[\.entityNameForTests] == "x" }))
  }

  func testClassesFitNoOtherModel() {
    var model = ManagedObjectModel(Job.self)
    model.entities[0].properties.reverse()
    XCTAssertThrowsError(
      try PersistentContainer(name: "Test", managedObjectModel: model, classes: ManagedObjectClasses(Job.self)))
  }
}
