import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Subentities: one hierarchy, one range of keys, every object of its own entity.
public final class InheritanceSpecification: StoreSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testFetchingASuperentityIncludesSubentities", { $0.testFetchingASuperentityIncludesSubentities }),
        ("testFetchCanExcludeSubentities", { $0.testFetchCanExcludeSubentities }),
        ("testRowsHaveTheirActualEntityAndItsSlots", { $0.testRowsHaveTheirActualEntityAndItsSlots }),
        ("testInheritedPropertiesCanBeQueried", { $0.testInheritedPropertiesCanBeQueried }),
        ("testSiblingsCanDeclareOnePropertyWithDifferentTypes", { $0.testSiblingsCanDeclareOnePropertyWithDifferentTypes }),
        ("testReferenceToASuperentityPreservesTheActualEntity", { $0.testReferenceToASuperentityPreservesTheActualEntity }),
        ("testARelationshipOfASubentityWorks", { $0.testARelationshipOfASubentityWorks }),
        ("testLinksToASuperentityPreserveTheActualEntity", { $0.testLinksToASuperentityPreserveTheActualEntity }),
        ("testAnAbstractEntityHasNoObjects", { $0.testAnAbstractEntityHasNoObjects }),
        ("testEntitiesAreDistinguished", { $0.testEntitiesAreDistinguished }),
        ("testPagesOfAnEntityHierarchyAreOrdered", { $0.testPagesOfAnEntityHierarchyAreOrdered }),
      ] as [(String, (InheritanceSpecification) -> () throws -> Void)])
  }

  private struct Assets {
    let open: OpenStore
    let sea, hill, film, wave, letter: ManagedObjectID
  }

  private func makeAssets() throws -> Assets {
    let open = try makeStore(SpecificationModels.assets)
    return try open.save { save in
      Assets(
        open: open, sea: try save.insert("Photo", ["name": .text("sea"), "size": .int(10), "width": .int(800), "title": .text("Sea")]),
        hill: try save.insert("Photo", ["name": .text("hill"), "size": .int(20), "width": .int(600)]),
        film: try save.insert("Video", ["name": .text("film"), "size": .int(500), "seconds": .real(60), "title": .int(1)]),
        wave: try save.insert("Clip", ["name": .text("wave"), "size": .int(50), "seconds": .real(5), "start": .int(3), "title": .int(2)]),
        letter: try save.insert("Letter", ["name": .text("letter"), "size": .int(1), "pages": .int(2), "recipient": .text("Ada")]))
    }
  }

  private func names(_ open: OpenStore, _ entity: String, _ predicate: FetchPredicate? = nil, sub: Bool = true) throws -> String {
    var specification = FetchSpecification(entityName: entity, predicate: predicate)
    specification.includesSubentities = sub
    specification.sortDescriptors = [FetchSortDescriptor("name")]
    let names = try open.texts("name", specification)
    XCTAssertEqual(try open.count(specification), names.count)
    XCTAssertEqual(try open.ids(specification).count, names.count)
    return names.joined(separator: " ")
  }

  func testFetchingASuperentityIncludesSubentities() throws {
    let open = try makeAssets().open
    XCTAssertEqual(try names(open, "Asset"), "film hill letter sea wave")
    XCTAssertEqual(try names(open, "Video"), "film wave")
    XCTAssertEqual(try names(open, "Photo"), "hill sea")
    XCTAssertEqual(try names(open, "Document"), "letter")
    XCTAssertEqual(try names(open, "Clip"), "wave")
  }

  func testFetchCanExcludeSubentities() throws {
    let open = try makeAssets().open
    XCTAssertEqual(try names(open, "Asset", sub: false), "")
    XCTAssertEqual(try names(open, "Video", sub: false), "film")
    XCTAssertEqual(try names(open, "Clip", sub: false), "wave")
  }

  func testRowsHaveTheirActualEntityAndItsSlots() throws {
    let assets = try makeAssets()
    let open = assets.open
    for row in try open.rows(FetchSpecification(entityName: "Asset")) {
      XCTAssertEqual(row.slotCount, open.model.entities[row.entityNumber].slots.count)
    }
    XCTAssertEqual(
      Set(try open.ids(FetchSpecification(entityName: "Asset"))), [assets.sea, assets.hill, assets.film, assets.wave, assets.letter])
    XCTAssertEqual(try open.value(assets.wave, "start"), .int(3))
    XCTAssertEqual(try open.value(assets.letter, "recipient"), .text("Ada"))
  }

  func testInheritedPropertiesCanBeQueried() throws {
    let open = try makeAssets().open
    XCTAssertEqual(try names(open, "Asset", .compare("size", .greater, 15)), "film hill wave")
    XCTAssertEqual(try names(open, "Clip", .compare("size", .equal, 50)), "wave")
    XCTAssertEqual(try names(open, "Video", .compare("seconds", .less, 10)), "wave")
    XCTAssertEqual(try names(open, "Letter", .compare("pages", .equal, 2) && .compare("recipient", .equal, "Ada")), "letter")
  }

  func testSiblingsCanDeclareOnePropertyWithDifferentTypes() throws {
    let assets = try makeAssets()
    let open = assets.open
    XCTAssertEqual(try open.value(assets.sea, "title"), .text("Sea"))
    XCTAssertEqual(try open.value(assets.film, "title"), .int(1))
    XCTAssertEqual(try names(open, "Photo", .compare("title", .beginsWith, "S")), "sea")
    XCTAssertEqual(try names(open, "Video", .compare("title", .greater, 1)), "wave")
    try open.save { save in
      try save.update(assets.sea, ["title": .text("1")])
      try save.update(assets.film, ["title": .int(9)])
    }
    XCTAssertEqual(try open.value(assets.sea, "title"), .text("1"))
    XCTAssertEqual(try open.value(assets.film, "title"), .int(9))
  }

  func testReferenceToASuperentityPreservesTheActualEntity() throws {
    let assets = try makeAssets()
    let open = assets.open
    for asset in [assets.sea, assets.wave, assets.letter] {
      let note = try open.insert("Note", ["body": .text("about"), "asset": asset.slot])
      XCTAssertEqual(try open.value(note, "asset"), asset.slot)
      XCTAssertEqual(try open.members(asset, "notes"), [note.reference])
      let about = FetchPredicate.compare("asset", .equal, asset)
      XCTAssertEqual(try open.ids(FetchSpecification(entityName: "Note", predicate: about)), [note])
    }
    XCTAssertEqual(try open.count(FetchSpecification(entityName: "Note", predicate: .compare("asset.size", .less, 20))), 2)
  }

  func testARelationshipOfASubentityWorks() throws {
    let assets = try makeAssets()
    let open = assets.open
    try open.save { save in
      try save.update(assets.film, ["poster": assets.sea.slot])
      try save.update(assets.wave, ["poster": assets.sea.slot])
    }
    XCTAssertEqual(Set(try open.members(assets.sea, "posterOf")), [assets.film.reference, assets.wave.reference])
    XCTAssertEqual(try open.members(assets.hill, "posterOf"), [])
    XCTAssertEqual(try names(open, "Video", .compare("poster.width", .equal, 800)), "film wave")
    XCTAssertEqual(try names(open, "Photo", .compare("posterOf.seconds", .equal, 5, modifier: .any)), "sea")
  }

  func testLinksToASuperentityPreserveTheActualEntity() throws {
    let assets = try makeAssets()
    let open = assets.open
    let note = try open.insert("Note", [:])
    try open.save { try $0.change(note, "assets", add: [assets.sea, assets.wave, assets.letter]) }
    XCTAssertEqual(Set(try open.members(note, "assets")), [assets.sea.reference, assets.wave.reference, assets.letter.reference])
    try open.save { try $0.delete(assets.wave) }
    XCTAssertEqual(Set(try open.members(note, "assets")), [assets.sea.reference, assets.letter.reference])
  }

  func testAnAbstractEntityHasNoObjects() throws {
    let open = try makeAssets().open
    XCTAssertThrowsError(try open.save { save in try save.insert("Asset", ["name": .text("nothing")]) })
    XCTAssertEqual(try open.count("Asset"), 5)
  }

  func testEntitiesAreDistinguished() throws {
    let assets = try makeAssets()
    let note = try assets.open.newID("Note")
    try assets.open.save { try $0.insert(note, ["body": .text("n")]) }
    XCTAssertEqual(try assets.open.count("Note"), 1)
    XCTAssertEqual(try assets.open.count("Asset"), 5)
  }

  func testPagesOfAnEntityHierarchyAreOrdered() throws {
    let open = try makeAssets().open
    var specification = FetchSpecification(entityName: "Asset")
    specification.sortDescriptors = [FetchSortDescriptor("size", ascending: false)]
    specification.fetchLimit = 2
    specification.fetchOffset = 1
    XCTAssertEqual(try open.texts("name", specification), ["wave", "hill"])
  }
}
