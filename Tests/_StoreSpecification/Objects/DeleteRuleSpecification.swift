import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// The effect of deleting an object on related objects, in memory and in the store.
public final class DeleteRuleSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testPositionsIgnoreDeletedMembers", { $0.testPositionsIgnoreDeletedMembers }),
        ("testNullifyClearsReferencesToTheObject", { $0.testNullifyClearsReferencesToTheObject }),
        ("testNullifyRemovesAnUnloadedMember", { $0.testNullifyRemovesAnUnloadedMember }),
        ("testCascadeDeletesTheWholeTree", { $0.testCascadeDeletesTheWholeTree }),
        ("testCascadeOfAnyDepthTerminates", { $0.testCascadeOfAnyDepthTerminates }),
        ("testCascadeAroundACycleTerminates", { $0.testCascadeAroundACycleTerminates }),
        ("testDenyRejectsDeletionWhileMembersExist", { $0.testDenyRejectsDeletionWhileMembersExist }),
        ("testDenyAllowsWhenAllAreDeletedTogether", { $0.testDenyAllowsWhenAllAreDeletedTogether }),
        ("testNoActionLeavesADanglingReference", { $0.testNoActionLeavesADanglingReference }),
        ("testManyToManyLinksAreDeletedWithTheObject", { $0.testManyToManyLinksAreDeletedWithTheObject }),
        ("testDeletedOrderedMemberIsRemoved", { $0.testDeletedOrderedMemberIsRemoved }),
        ("testDeletingANewObjectUnregistersIt", { $0.testDeletingANewObjectUnregistersIt }),
        ("testRequiredInverseRejectsTheDeletion", { $0.testRequiredInverseRejectsTheDeletion }),
      ] as [(String, (DeleteRuleSpecification) -> () throws -> Void)])
  }

  /// Folders cascade to folders and files; an owner cannot be deleted while it has files; deleting a file nullifies its owner's reference;
  /// `origin` has no action.
  static let files: CompiledModel = {
    func relationship(
      _ name: String, _ destination: String, _ inverse: String?, many: Bool = false, ordered: Bool = false, optional: Bool = true,
      _ rule: DeleteRule = .nullify
    ) -> PropertyDescription {
      .relationship(
        RelationshipDescription(
          name: name, destination: destination, inverse: inverse, isToMany: many, isOrdered: ordered, isOptional: optional, deleteRule: rule
        ))
    }
    return SpecificationModels.compile([
      SpecificationModels.entity(
        "Folder",
        [
          SpecificationModels.text("name"), relationship("parent", "Folder", "folders"),
          relationship("folders", "Folder", "parent", many: true, .cascade),
          relationship("files", "File", "folder", many: true, ordered: true, .cascade),
          relationship("next", "Folder", "previous", .cascade),
          relationship("previous", "Folder", "next"),
        ]),
      SpecificationModels.entity(
        "File",
        [
          SpecificationModels.text("name"), relationship("folder", "Folder", "files"), relationship("owner", "Owner", "files"),
          relationship("origin", "File", "copies", .noAction), relationship("copies", "File", "origin", many: true, .noAction),
          relationship("labels", "Label", "files", many: true), relationship("seal", "Seal", "file"),
        ]),
      SpecificationModels.entity("Owner", [SpecificationModels.text("name"), relationship("files", "File", "owner", many: true, .deny)]),
      SpecificationModels.entity("Label", [SpecificationModels.text("name"), relationship("files", "File", "labels", many: true)]),
      SpecificationModels.entity(
        "Seal", [SpecificationModels.text("name"), relationship("file", "File", "seal", optional: false)]),
    ])
  }()

  private func makeFiles() throws -> (OpenStore, ManagedObjectContext) {
    let open = try makeStore(Self.files)
    return (open, open.newContext())
  }

  func testNullifyClearsReferencesToTheObject() throws {
    let open = try makeStore()
    let context = open.newContext()
    let ada = try context.insert("Author", ["name": "Ada"])
    let book = try context.insert("Book", ["title": "1", "author": ada])
    try context.save()
    context.delete(ada)
    context.processPendingChanges()
    XCTAssertNil(book.object("author"))
    XCTAssertTrue(book.isUpdated)
    try context.save()
    XCTAssertEqual(try open.value(book.objectID, "author"), .null)
  }

  func testNullifyRemovesAnUnloadedMember() throws {
    let (open, context) = try makeFiles()
    let folder = try context.insert("Folder", ["name": "f"])
    for name in ["a", "b"] { try context.insert("Folder", ["name": name, "previous": name == "a" ? folder : nil]) }
    let owner = try context.insert("Owner", ["name": "o"])
    let file = try context.insert("File", ["name": "x", "folder": folder, "owner": owner])
    try context.save()
    let other = open.newContext()
    other.delete(try find("File", "name", "x", in: other))
    try other.save()
    XCTAssertEqual(try find("Owner", "name", "o", in: other).members("files"), [])
    XCTAssertEqual(try find("Folder", "name", "f", in: other).list("files"), [])
    XCTAssertEqual(file.text("name"), "x", "Another context keeps what it has read.")
  }

  func testCascadeDeletesTheWholeTree() throws {
    let (open, context) = try makeFiles()
    let root = try context.insert("Folder", ["name": "root"])
    for name in ["a", "b"] {
      let child = try context.insert("Folder", ["name": name, "parent": root])
      for number in 0..<2 {
        try context.insert(
          "File", ["name": "\(name)\(number)", "folder": try context.insert("Folder", ["name": "\(name)\(number)", "parent": child])])
      }
    }
    let kept = try context.insert("Folder", ["name": "kept"])
    try context.save()
    let other = open.newContext()
    other.delete(try find("Folder", "name", "root", in: other))
    try other.save()
    XCTAssertEqual(try open.texts("name", FetchSpecification(entityName: "Folder")), ["kept"])
    XCTAssertEqual(try open.count("File"), 0)
    XCTAssertNotNil(try open.row(kept.objectID))
  }

  func testCascadeOfAnyDepthTerminates() throws {
    let (open, context) = try makeFiles()
    var previous: ManagedObject?
    for index in 0..<1_000 { previous = try context.insert("Folder", ["name": "\(index)", "previous": previous]) }
    try context.save()
    context.reset()
    let other = open.newContext()
    other.delete(try find("Folder", "name", "0", in: other))
    try other.save()
    XCTAssertEqual(try open.count("Folder"), 0)
  }

  func testCascadeAroundACycleTerminates() throws {
    let (open, context) = try makeFiles()
    let folders = try (0..<3).map { try context.insert("Folder", ["name": "\($0)"]) }
    for index in 0..<3 { try folders[index].setValue(folders[(index + 1) % 3], forKey: "next") }
    try context.save()
    context.delete(folders[1])
    try context.save()
    XCTAssertEqual(try open.count("Folder"), 0)
  }

  func testDenyRejectsDeletionWhileMembersExist() throws {
    let (open, context) = try makeFiles()
    let owner = try context.insert("Owner", ["name": "o"])
    let file = try context.insert("File", ["name": "x", "owner": owner])
    try context.save()
    context.delete(owner)
    XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? ValidationError)?.code, .deletionDenied) }
    XCTAssertEqual(try open.count("Owner"), 1)
    try file.setValue(nil, forKey: "owner")
    try context.save()
    XCTAssertEqual(try open.count("Owner"), 0)
  }

  func testDenyAllowsWhenAllAreDeletedTogether() throws {
    let (open, context) = try makeFiles()
    let owner = try context.insert("Owner", ["name": "o"])
    let file = try context.insert("File", ["name": "x", "owner": owner])
    try context.save()
    context.delete(owner)
    context.delete(file)
    try context.save()
    XCTAssertEqual(try open.count("Owner") + open.count("File"), 0)
  }

  func testNoActionLeavesADanglingReference() throws {
    let (open, context) = try makeFiles()
    let origin = try context.insert("File", ["name": "origin"])
    let copy = try context.insert("File", ["name": "copy", "origin": origin])
    try context.save()
    let id = copy.objectID
    context.delete(origin)
    try context.save()
    let other = open.newContext()
    let found = try XCTUnwrap(try other.existingObject(with: id).object("origin"))
    XCTAssertNil(found.text("name"))
    XCTAssertEqual(try open.count(FetchSpecification(entityName: "File", predicate: .compare("origin.name", .equal, nil))), 1)
  }

  func testManyToManyLinksAreDeletedWithTheObject() throws {
    let (open, context) = try makeFiles()
    let labels = try ["red", "blue"].map { try context.insert("Label", ["name": $0]) }
    let files = try ["x", "y"].map { try context.insert("File", ["name": $0, "labels": Set(labels)]) }
    try context.save()
    XCTAssertEqual(labels[0].members("files").count, 2)
    context.delete(files[0])
    try context.save()
    XCTAssertEqual(labels[0].members("files"), [files[1]])
    let other = open.newContext()
    XCTAssertEqual(try find("Label", "name", "blue", in: other).members("files").compactMap { $0.text("name") }, ["y"])
    other.delete(try find("Label", "name", "red", in: other))
    try other.save()
    XCTAssertEqual(try find("File", "name", "y", in: open.newContext()).members("labels").compactMap { $0.text("name") }, ["blue"])
  }

  func testDeletedOrderedMemberIsRemoved() throws {
    let (open, context) = try makeFiles()
    let folder = try context.insert("Folder", ["name": "f"])
    let files = try (0..<4).map { try context.insert("File", ["name": "\($0)"]) }
    try folder.setValue([2, 0, 3, 1].map { files[$0] }, forKey: "files")
    try context.save()
    context.delete(files[0])
    context.processPendingChanges()
    XCTAssertEqual(folder.list("files").compactMap { $0.text("name") }, ["2", "3", "1"])
    try context.save()
    XCTAssertEqual(try find("Folder", "name", "f", in: open.newContext()).list("files").compactMap { $0.text("name") }, ["2", "3", "1"])
  }

  func testDeletingANewObjectUnregistersIt() throws {
    let (open, context) = try makeFiles()
    let folder = try context.insert("Folder", ["name": "f"])
    let file = try context.insert("File", ["name": "x", "folder": folder])
    context.delete(file)
    try context.save()
    XCTAssertNil(file.managedObjectContext)
    XCTAssertEqual(folder.list("files"), [])
    XCTAssertEqual(try open.count("File"), 0)
    XCTAssertEqual(try open.count("Folder"), 1)
  }

  func testRequiredInverseRejectsTheDeletion() throws {
    let (open, context) = try makeFiles()
    let file = try context.insert("File", ["name": "x"])
    let seal = try context.insert("Seal", ["name": "s", "file": file])
    try context.save()
    context.delete(file)
    XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? ValidationError)?.key, "file") }
    XCTAssertEqual(try open.count("File"), 1)
    context.delete(seal)
    try context.save()
    XCTAssertEqual(try open.count("File") + open.count("Seal"), 0)
  }

  func testPositionsIgnoreDeletedMembers() throws {
    let open = try makeStore(UndoGraph.model)
    for entity in ["Owner", "Tag"] {
      for isRead in [false, true] {
        let context = open.newContext()
        let owner = try context.insert(entity)
        let items = try (0..<5).map { _ in try context.insert("Item") }
        try owner.setValue(Array(items[..<4]), forKey: "items")
        try context.save()
        context.refreshAllObjects()
        if isRead { XCTAssertEqual(owner.list("items").count, 4) }
        context.delete(items[0])
        context.processPendingChanges()
        let members = try owner.mutableOrderedSetValue(forKey: "items")
        members.insert(items[4], at: 1)
        XCTAssertEqual(owner.list("items"), [items[1], items[4], items[2], items[3]], "\(entity), read \(isRead)")
        members.remove(at: 0)
        XCTAssertEqual(owner.list("items"), [items[4], items[2], items[3]], "\(entity), read \(isRead)")
        members.insert(items[3], at: 0)
        try context.save()
        let fresh = open.newContext()
        let stored = try fresh.existingObject(with: owner.objectID).objectIDs(forRelationshipNamed: "items")
        XCTAssertEqual(stored, [items[3], items[4], items[2]].map(\.objectID), "\(entity), read \(isRead)")
      }
    }
  }
}
