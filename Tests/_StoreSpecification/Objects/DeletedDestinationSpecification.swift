import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// No save stores a link to a row that another context has deleted.
public final class DeletedDestinationSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testMergeRemovesLinksToDeletedObjects", { $0.testMergeRemovesLinksToDeletedObjects }),
        ("testLinksToDeletedObjectsAreNotSaved", { $0.testLinksToDeletedObjectsAreNotSaved }),
        ("testLinkSetToItsOwnValueIsClearedWithItsObject", { $0.testLinkSetToItsOwnValueIsClearedWithItsObject }),
        ("testARequiredLinkToADeletedObjectIsAValidationError", { $0.testARequiredLinkToADeletedObjectIsAValidationError }),
        ("testLinksWithoutAnInverseToExistingObjectsAreSaved", { $0.testLinksWithoutAnInverseToExistingObjectsAreSaved }),
      ] as [(String, (DeletedDestinationSpecification) -> () throws -> Void)])
  }

  private static let model: CompiledModel = {
    var must = RelationshipDescription(name: "must", destination: "B", inverse: "musts")
    must.isOptional = false
    return SpecificationModels.compile([
      SpecificationModels.entity(
        "A",
        [
          SpecificationModels.integer("number"), SpecificationModels.toOne("one", "B", "as"),
          SpecificationModels.toOne("single", "B", "singleA"), SpecificationModels.toMany("kids", "B", "parent"),
          SpecificationModels.toMany("sorted", "B", "sortedParent", ordered: true), SpecificationModels.toMany("tags", "B", "nodes"),
          SpecificationModels.toOne("loose", "B"), SpecificationModels.toMany("looseMany", "B"),
          SpecificationModels.toMany("looseOrdered", "B", ordered: true),
        ]),
      SpecificationModels.entity(
        "B",
        [
          SpecificationModels.integer("number"), SpecificationModels.toMany("as", "A", "one"),
          SpecificationModels.toOne("singleA", "A", "single"), SpecificationModels.toOne("parent", "A", "kids"),
          SpecificationModels.toOne("sortedParent", "A", "sorted"), SpecificationModels.toMany("nodes", "A", "tags"),
          SpecificationModels.toMany("musts", "C", "must"),
        ]),
      SpecificationModels.entity("C", [SpecificationModels.integer("number"), .relationship(must)]),
    ])
  }()

  private static let policies: [MergePolicy] = [.error, .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback]
  private static let withoutInverse = ["loose", "looseMany", "looseOrdered"]
  /// Every relationship with its source, from both ends.
  private static let links: [(source: String, key: String)] = [
    ("A", "one"), ("B", "as"), ("A", "single"), ("B", "singleA"), ("A", "kids"), ("B", "parent"), ("A", "sorted"), ("B", "sortedParent"),
    ("A", "tags"), ("B", "nodes"), ("A", "loose"), ("A", "looseMany"), ("A", "looseOrdered"),
  ]

  private struct LinkDeletionCase: CustomStringConvertible {
    var policy: MergePolicy
    var link: (source: String, key: String)
    /// The entity of the deleted object.
    var victim: String
    var owner: Owner
    var isBatch = false
    var linksFirst = true
    enum Owner: CaseIterable { case stored, changed, new }
    var description: String { "\(policy) \(link) victim \(victim) owner \(owner) batch \(isBatch) links first \(linksFirst)" }
  }

  private static func trials(_ policies: [MergePolicy], _ links: [(source: String, key: String)], linksFirst: [Bool]) -> [LinkDeletionCase]
  {
    var trials: [LinkDeletionCase] = []
    for policy in policies {
      for link in links {
        for owner in LinkDeletionCase.Owner.allCases {
          for victim in owner == .new ? [link.source == "A" ? "B" : "A"] : ["A", "B"] {
            for isBatch in [false, true] {
              for first in linksFirst {
                trials.append(
                  LinkDeletionCase(policy: policy, link: link, victim: victim, owner: owner, isBatch: isBatch, linksFirst: first))
              }
            }
          }
        }
      }
    }
    return trials
  }

  private func link(_ source: ManagedObject, _ key: String, _ destination: ManagedObject) throws {
    guard let relationship = source.entity.relationships.first(where: { $0.name == key }) else { return XCTFail(key) }
    if !relationship.isToMany { return try source.setValue(destination, forKey: key) }
    if relationship.isOrdered {
      try source.mutableOrderedSetValue(forKey: key).add(destination)
    } else {
      try source.mutableSetValue(forKey: key).add(destination)
    }
  }

  /// Links two objects, one of which another context deletes.
  ///
  /// - Returns: The error of the save.
  private func run(_ trial: LinkDeletionCase, in open: OpenStore, merges: Bool) throws -> (any Error)? {
    let context = ManagedObjectContext(coordinator: open.coordinator, mergePolicy: trial.policy)
    context.automaticallyMergesChangesFromParent = merges
    let other = open.newContext()
    let stored = [try other.insert("A", ["number": 1]), try other.insert("B", ["number": 1])]
    try other.save()
    let destination = trial.link.source == "A" ? "B" : "A"
    func mine(_ entity: String) throws -> ManagedObject {
      try context.existingObject(with: stored[entity == "A" ? 0 : 1].objectID)
    }
    let source = trial.owner == .new ? try context.insert(trial.link.source) : try mine(trial.link.source)
    let target = try mine(destination)
    hold([source, target])
    XCTAssertEqual([source.entity.name, target.entity.name], [trial.link.source, destination])
    func link() throws {
      if trial.owner == .changed { for object in [source, target] { try object.setValue(2, forKey: "number") } }
      try self.link(source, trial.link.key, target)
    }
    func delete() throws {
      let victim = stored[trial.victim == "A" ? 0 : 1]
      if trial.isBatch {
        _ = try other.execute(BatchDeleteRequest(objectIDs: [victim.objectID]))
      } else {
        other.delete(victim)
        try other.save()
      }
    }
    if trial.linksFirst {
      try link()
      try delete()
    } else {
      try delete()
      try link()
    }
    do { try context.save() } catch {
      context.rollback()
      try context.insert("A")
      try context.save()
      return error
    }
    XCTAssertFalse(context.hasChanges, "\(trial)")
    return nil
  }

  /// Checks that no reference dangles in either direction; then deletes everything.
  private func checkStore(_ open: OpenStore, _ trial: LinkDeletionCase) throws {
    let context = open.newContext()
    for entity in ["A", "B"] {
      for object in try context.all(entity) {
        for relationship in object.entity.relationships {
          let ids = try object.objectIDs(forRelationshipNamed: relationship.name)
          for id in ids { XCTAssertNoThrow(try context.existingObject(with: id), "\(trial): \(relationship.name)") }
        }
      }
    }
    for link in Self.links {
      let isToMany = Self.model.entity(named: link.source)?.relationships.first { $0.name == link.key }?.isToMany ?? false
      let format = isToMany ? "\(link.key).@count > 0" : "\(link.key) != nil"
      let found = try context.fetch(FetchRequest<ManagedObject>(entityName: link.source, predicate: try FetchPredicate(format: format)))
      for object in found { XCTAssertFalse(try object.objectIDs(forRelationshipNamed: link.key).isEmpty, "\(trial): \(link)") }
    }
    for entity in ["A", "B"] { for object in try context.all(entity) { context.delete(object) } }
    try context.save()
  }

  // MARK: Tests

  func testMergeRemovesLinksToDeletedObjects() throws {
    let open = try makeStore(Self.model)
    for trial in Self.trials([.error, .mergeByPropertyStoreTrump, .rollback], Self.links, linksFirst: [true, false]) {
      let error = try run(trial, in: open, merges: true)
      // A batch request can omit the object IDs; then the save finds the conflict.
      if let error { XCTAssertTrue(trial.isBatch, "\(trial): \(error)") }
      try checkStore(open, trial)
    }
  }

  func testLinksToDeletedObjectsAreNotSaved() throws {
    let open = try makeStore(Self.model)
    for trial in Self.trials(Self.policies, Self.links, linksFirst: [true, false]) {
      let error = try run(trial, in: open, merges: false)
      if Self.withoutInverse.contains(trial.link.key), trial.victim == "B", trial.owner != .changed {
        XCTAssertEqual((error as? StoreError)?.code, .objectNotFound, "\(trial)")
      }
      try checkStore(open, trial)
    }
    // With merging, objects that a policy resolves can outlive their rows.
    for trial in Self.trials([.mergeByPropertyObjectTrump, .overwrite], Self.links, linksFirst: [true]) {
      _ = try run(trial, in: open, merges: true)
      try checkStore(open, trial)
    }
  }

  func testLinkSetToItsOwnValueIsClearedWithItsObject() throws {
    for policy in [MergePolicy.error, .mergeByPropertyStoreTrump, .rollback] {
      let open = try makeStore(Self.model)
      let context = ManagedObjectContext(coordinator: open.coordinator, mergePolicy: policy)
      context.automaticallyMergesChangesFromParent = true
      let (a, b) = (try context.insert("A"), try context.insert("B"))
      try a.setValue(b, forKey: "one")
      try context.save()
      try a.setValue(b, forKey: "one")
      let other = open.newContext()
      other.delete(try other.existingObject(with: b.objectID))
      try other.save()
      context.processPendingChanges()
      XCTAssertNil(a.object("one"))
      try context.save()
      XCTAssertNil(a.object("one"))
      XCTAssertEqual(try open.value(a.objectID, "one"), .null, "\(policy)")
    }
  }

  func testARequiredLinkToADeletedObjectIsAValidationError() throws {
    let open = try makeStore(Self.model)
    let context = open.newContext()
    context.automaticallyMergesChangesFromParent = true
    let b = try context.insert("B")
    try context.save()
    let c = try context.insert("C", ["must": b])
    let other = open.newContext()
    other.delete(try other.existingObject(with: b.objectID))
    try other.save()
    XCTAssertThrowsError(try context.save()) { XCTAssertTrue($0 is ValidationError, "\($0)") }
    try c.setValue(try context.insert("B"), forKey: "must")
    try context.save()
  }

  func testLinksWithoutAnInverseToExistingObjectsAreSaved() throws {
    let open = try makeStore(Self.model)
    let writer = open.newContext()
    let stored = try (0..<3).map { try writer.insert("B", ["number": $0]) }
    try writer.save()
    for isNested in [false, true] {
      let parent = open.newContext()
      let context = isNested ? ManagedObjectContext(parent: parent) : parent
      // Faults whose rows were never read, and new objects.
      let targets = stored.map { context.object(with: $0.objectID) } + [try context.insert("B")]
      let a = try context.insert("A")
      try a.setValue(targets[0], forKey: "loose")
      try a.setValue(Set(targets), forKey: "looseMany")
      try a.setValue(targets, forKey: "looseOrdered")
      try context.save()
      try parent.save()
      XCTAssertEqual(try open.members(a.objectID, "looseOrdered").count, 4)
      XCTAssertEqual(try open.members(a.objectID, "looseMany").count, 4)
      try a.setValue(targets[3], forKey: "loose")
      try context.save()
      try parent.save()
    }
  }
}
