// Applying the changes in a snapshot to a context, over changes by others.
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

extension SnapshotSpecification {
  func testOnlySetPropertiesAreApplied() throws {
    let (open, writer, book) = try makeLibrary()
    var snapshot = try book.snapshot()
    try snapshot.setValue("Exiles", forKey: "title")
    try snapshot.setValue(snapshot["year"], forKey: "year")
    try book.setValue(Int64(700), forKey: "pages")
    try writer.save()
    let context = open.newContext()
    let applied = try context.apply(snapshot)
    XCTAssertEqual(applied.objectID, book.objectID)
    XCTAssertEqual(Set(applied.changedValues().keys), ["title"], "what it was set to is there already")
    XCTAssertEqual(applied.integer("pages"), 700, "what others have changed stays")
    try context.save()
    let row = try XCTUnwrap(open.row(book.objectID))
    XCTAssertEqual(try open.value(row, "title"), .text("Exiles"))
    XCTAssertEqual(try open.value(row, "pages"), .int(700))
    let untouched = try applied.snapshot()
    try context.apply(untouched)
    XCTAssertFalse(context.hasChanges)
  }

  // MARK: Conflicts

  /// A snapshot of an item with a=1 b=1 c=1 that sets a=2 c=2, after another context has saved a=3 b=3; and a context with a policy.
  private func rivals(_ policy: MergePolicy) throws -> (open: OpenStore, context: ManagedObjectContext, snapshot: ObjectSnapshot) {
    let open = try makeStore(MergeModel.compiled)
    let id = try open.insert("Item", ["a": .int(1), "b": .int(1), "c": .int(1), "key": .text("k")])
    let other = open.context()
    let item = try other.existingObject(with: id)
    var snapshot = try item.snapshot()
    for key in ["a", "c"] { try snapshot.setValue(2, forKey: key) }
    for key in ["a", "b"] { try item.setValue(Int64(3), forKey: key) }
    try other.save()
    return (open, open.context(policy), snapshot)
  }

  func testChangesOnBothSidesFollowThePolicy() throws {
    let table: [(MergePolicy, [Int64?])] = [
      (.mergeByPropertyStoreTrump, [3, 3, 2]), (.mergeByPropertyObjectTrump, [2, 3, 2]), (.overwrite, [2, 3, 2]), (.rollback, [3, 3, 1]),
    ]
    for (policy, expected) in table {
      let (open, context, snapshot) = try rivals(policy)
      let item = try context.apply(snapshot)
      XCTAssertEqual(item.numbers, expected, "\(policy)")
      try context.save()
      XCTAssertEqual(try open.numbers(item.objectID), expected, "\(policy)")
    }
  }

  func testAConflictNamesItsPropertiesAndChangesNothing() throws {
    let (_, context, snapshot) = try rivals(.error)
    let error = assertStoreError(.mergeConflict) { try context.apply(snapshot) }
    XCTAssertEqual(error?.objectID, snapshot.objectID)
    XCTAssertEqual(error?.entityName, "Item")
    XCTAssertEqual(error?.propertyName, "a")
    XCTAssertTrue(error?.message.contains("“a”") ?? false, error?.message ?? "")
    let conflict = try XCTUnwrap(error?.mergeConflicts.first)
    XCTAssertEqual(conflict.propertyNames, ["a"])
    XCTAssertEqual([conflict.oldVersion + 1], [conflict.newVersion])
    XCTAssertEqual(try conflict.originalSnapshot?["a"] as? Int64, 1)
    XCTAssertEqual(try conflict.objectSnapshot?["a"] as? Int64, 2)
    XCTAssertEqual(try conflict.storeSnapshot?["a"] as? Int64, 3)
    XCTAssertFalse(context.hasChanges)
    XCTAssertNil(context.pendingError)
    // Without the property that both have changed, there is no conflict.
    var other = try context.existingObject(with: try XCTUnwrap(snapshot.objectID)).snapshot()
    try other.setValue(2, forKey: "a")
    XCTAssertEqual(try context.apply(other).numbers, [2, 3, 1])
  }

  func testUnsavedChangesOfTheContextConflict() throws {
    let (open, context, _) = try rivals(.error)
    let item = try XCTUnwrap(context.all("Item").first)
    var snapshot = try item.snapshot()
    try snapshot.setValue(8, forKey: "a")
    try item.setValue(Int64(7), forKey: "a")
    assertStoreError(.mergeConflict) { try context.apply(snapshot) }
    XCTAssertEqual(item.numbers, [7, 3, 1])
    try item.setValue(Int64(8), forKey: "a")
    XCTAssertEqual(try context.apply(snapshot).numbers, [8, 3, 1], "both say the same")
    context.mergePolicy = .mergeByPropertyObjectTrump
    try item.setValue(Int64(7), forKey: "a")
    XCTAssertEqual(try context.apply(snapshot).numbers, [8, 3, 1])
    try context.save()
    XCTAssertEqual(try open.numbers(item.objectID), [8, 3, 1])
  }

  func testRulesAndResolversResolveConflicts() throws {
    let sum = MergePolicy.mergeByPropertyStoreTrump.resolving("Item", "a", as: Int64.self) {
      ($0.object ?? 0) * 100 + ($0.store ?? 0) * 10 + ($0.original ?? 0)
    }
    let (_, context, snapshot) = try rivals(sum)
    XCTAssertEqual(try context.apply(snapshot).numbers, [231, 3, 2])
    struct Resolver: MergeResolver {
      func decision(for conflict: MergeConflict) throws -> MergeDecision {
        XCTAssertEqual(conflict.propertyNames, ["a"])
        return MergeDecision(.rollback, values: ["b": 9])
      }
    }
    let (_, other, second) = try rivals(MergePolicy(Resolver()))
    XCTAssertEqual(try other.apply(second).numbers, [3, 9, 1])
    let (_, third, last) = try rivals(.mergeByPropertyObjectTrump.resolving("Item", by: .error))
    assertStoreError(.mergeConflict) { try third.apply(last) }
  }

  func testNewerSnapshotUpdatesTheObject() throws {
    let (open, _, old) = try rivals(.error)
    let id = try XCTUnwrap(old.objectID)
    let context = open.context()
    let item = try context.existingObject(with: id)
    XCTAssertEqual(item.numbers, [3, 3, 1])
    let other = open.context()
    let rival = try other.existingObject(with: id)
    try rival.setValue(Int64(5), forKey: "a")
    try other.save()
    var snapshot = try rival.snapshot()
    try snapshot.setValue(6, forKey: "a")
    try context.apply(snapshot)
    XCTAssertEqual(item.numbers, [6, 3, 1], "the snapshot knows the newer row: nothing was changed on both sides")
    try context.save()
    XCTAssertEqual(try open.numbers(id), [6, 3, 1])
  }

  // MARK: New objects

  func testASnapshotWithoutAnIDInserts() throws {
    let open = try makeStore(MergeModel.compiled)
    let context = open.context()
    var snapshot = try ObjectSnapshot(entityName: "Sample", model: MergeModel.compiled.model)
    XCTAssertNil(snapshot.objectID)
    XCTAssertEqual(try snapshot["b"] as? Int64, 0, "the default value")
    XCTAssertEqual(snapshot.changedKeys, [])
    try snapshot.setValue(4, forKey: "grade")
    try snapshot.setValue(nil, forKey: "b")
    let tag = try context.insert("Tag", ["name": "t"])
    try snapshot.setValue([tag.objectID], forKey: "tags")
    let (one, two) = (try context.apply(snapshot), try context.apply(snapshot))
    XCTAssertFalse(one === two)
    XCTAssertEqual(one.integer("grade"), 4)
    XCTAssertNil(one["b"])
    XCTAssertEqual(tag.members("items"), [one, two])
    // All values of an object that was never saved.
    try one.setValue("k", forKey: "key")
    let second = open.context()
    let copy = try second.apply(try JSONDecoder().decode(ObjectSnapshot.self, from: JSONEncoder().encode(one.snapshot())))
    XCTAssertEqual([copy.text("key"), copy["b"] as? String], ["k", nil])
    XCTAssertEqual(copy.integer("grade"), 4)
    try context.save()
    XCTAssertEqual(try open.count("Sample"), 2)
    assertStoreError(.invalidRequest) { try ObjectSnapshot(entityName: "Nobody", model: MergeModel.compiled.model) }
    let assets = SpecificationModels.assets
    assertStoreError(.invalidRequest) { try ObjectSnapshot(entityName: "Asset", model: assets.model) }
    let photo = try ObjectSnapshot(entityName: "Photo", model: assets.model)
    assertStoreError(.modelIncompatible) { try context.apply(photo) }
  }

  // MARK: Relationships

  func testRelationshipsAreAppliedWithTheirInverses() throws {
    let (open, writer, book) = try makeLibrary()
    let author = try writer.insert("Author", ["name": "Beckett"])
    try writer.save()
    var snapshot = try book.snapshot()
    try snapshot.setValue(author.objectID, forKey: "author")
    let context = open.newContext()
    let applied = try context.apply(snapshot)
    XCTAssertEqual(applied.object("author")?.text("name"), "Beckett")
    XCTAssertEqual(applied.object("author")?.members("books"), [applied])
    XCTAssertEqual(try find("Author", "name", "Joyce", in: context).members("books"), [])
    try context.save()
    var cleared = try applied.snapshot()
    try cleared.setValue(nil, forKey: "author")
    XCTAssertNil(try context.apply(cleared).object("author"))
    var spouse = try find("Author", "name", "Joyce", in: context).snapshot()
    try spouse.setValue(author.objectID, forKey: "spouse")
    let joyce = try context.apply(spouse)
    XCTAssertEqual(joyce.object("spouse")?.object("spouse"), joyce)
    try context.save()
  }

  func testMembersAreMerged() throws {
    let (open, writer, book) = try makeLibrary()
    let (red, blue) = (try find("Tag", "name", "red", in: writer), try find("Tag", "name", "blue", in: writer))
    let (green, grey) = (try writer.insert("Tag", ["name": "green"]), try writer.insert("Tag", ["name": "grey"]))
    try writer.save()
    var snapshot = try book.snapshot(including: ["tags"])
    try snapshot.setValue([red.objectID, green.objectID], forKey: "tags")
    try book.setValue([red, blue, grey] as Set, forKey: "tags")
    try writer.save()
    let context = open.newContext()
    let applied = try context.apply(snapshot)
    XCTAssertEqual(Set(applied.members("tags").map { $0.text("name") }), ["red", "green", "grey"], "blue went, green came, grey stays")
    try context.save()
    writer.refreshAllObjects()
    XCTAssertEqual(book.members("tags"), [red, green, grey])
    // If the snapshot does not contain the members, the assigned ones are the members.
    var whole = try book.snapshot()
    try whole.setValue([blue.objectID], forKey: "tags")
    XCTAssertEqual(try writer.apply(whole).members("tags"), [blue])
  }

  func testOrderIsMergedWithNewMembers() throws {
    let (open, writer, book) = try makeLibrary()
    var snapshot = try book.snapshot(including: ["chapters"])
    let chapters = try XCTUnwrap(snapshot["chapters"] as? [ManagedObjectID])
    let four = try writer.insert("Chapter", ["title": "four"])
    try book.setValue(book.list("chapters") + [four], forKey: "chapters")
    try writer.save()
    try snapshot.setValue([chapters[2], chapters[0]], forKey: "chapters")
    let context = open.newContext()
    let applied = try context.apply(snapshot)
    XCTAssertEqual(applied.list("chapters").map { $0.text("title") }, ["three", "one", "four"])
    try context.save()
    let reader = open.newContext()
    let fresh = try reader.fetch(
      FetchRequest<ManagedObject>(entityName: "Book"), as: ObjectSnapshot.self, including: ["chapters"])
    XCTAssertEqual(try names(fresh[0]["chapters"] as? [ManagedObjectID], "title", in: context), ["three", "one", "four"])
  }

  func testOrdersOfBothSidesAreMerged() throws {
    let (open, writer, book) = try makeLibrary()
    var snapshot = try book.snapshot(including: ["chapters"])
    let chapters = try XCTUnwrap(snapshot["chapters"] as? [ManagedObjectID])
    let four = try writer.insert("Chapter", ["title": "four"])
    try book.mutableOrderedSetValue(forKey: "chapters").insert(four, at: 1)
    try writer.save()
    try snapshot.setValue([chapters[2], chapters[0], chapters[1]], forKey: "chapters")
    let context = open.newContext()
    context.undoManager = ContextUndoManager()
    let applied = try context.apply(snapshot)
    XCTAssertEqual(applied.list("chapters").map { $0.text("title") }, ["three", "one", "four", "two"])
    context.processPendingChanges()
    try context.undo()
    XCTAssertEqual(applied.list("chapters").map { $0.text("title") }, ["one", "four", "two", "three"])
    try context.redo()
    try context.save()
    writer.refreshAllObjects()
    XCTAssertEqual(book.list("chapters").map { $0.text("title") }, ["three", "one", "four", "two"])
  }

  func testRelationshipsToMissingObjectsAreRejected() throws {
    let (open, writer, book) = try makeLibrary()
    let context = open.newContext()
    let unsaved = try writer.insert("Author", ["name": "new"]).objectID
    let tag = try find("Tag", "name", "red", in: writer).objectID
    for (key, value) in [("author", unsaved), ("author", tag)] {
      var snapshot = try book.snapshot()
      try snapshot.setValue("x", forKey: "title")
      try snapshot.setValue(value, forKey: key)
      XCTAssertThrowsError(try context.apply(snapshot), key) { XCTAssertTrue($0 is StoreError, "\($0)") }
      var new = try ObjectSnapshot(entityName: "Book", model: open.model.model)
      try new.setValue(value, forKey: key)
      XCTAssertThrowsError(try context.apply(new), key)
    }
    var snapshot = try book.snapshot()
    try snapshot.setValue([tag, book.objectID], forKey: "tags")
    assertStoreError(.invalidRequest) { try context.apply(snapshot) }
    XCTAssertFalse(context.hasChanges, "nothing was changed")
    XCTAssertNil(context.pendingError)
    // The context with the new object can resolve it.
    var known = try book.snapshot()
    try known.setValue(unsaved, forKey: "author")
    XCTAssertEqual(try writer.apply(known).object("author")?.objectID, unsaved)
    try writer.save()
  }

  // MARK: Other contexts

  func testNestedContextsReadAndApplySnapshots() throws {
    let (open, parent, book) = try makeLibrary()
    try book.setValue("Exiles", forKey: "title")
    let child = ManagedObjectContext(parent: parent)
    let inner = try child.existingObject(with: book.objectID)
    var snapshot = try inner.snapshot(including: ["tags"])
    XCTAssertEqual(try snapshot["title"] as? String, "Exiles", "it is what the child shows")
    XCTAssertEqual(snapshot.version, 0, "no store has that row")
    try snapshot.setValue(Int64(1), forKey: "pages")
    try child.apply(snapshot)
    try child.save()
    XCTAssertEqual(book.integer("pages"), 1)
    XCTAssertEqual(
      try child.fetch(FetchRequest<ManagedObject>(entityName: "Book"), as: ObjectSnapshot.self).map { try $0.value("pages", as: Int.self) },
      [1])
    try snapshot.setValue("late", forKey: "title")
    try book.setValue("other", forKey: "title")
    child.reset()
    assertStoreError(.mergeConflict) { try child.apply(snapshot) }
    let grandchild = ManagedObjectContext(parent: child)
    let new = try parent.insert("Author", ["name": "new"])
    var other = try grandchild.existingObject(with: book.objectID).snapshot()
    try other.setValue(new.objectID, forKey: "author")
    XCTAssertEqual(try grandchild.apply(other).object("author")?.text("name"), "new")
    let reader = open.newContext()
    let stored = try reader.existingObject(with: book.objectID).snapshot()
    parent.delete(book)
    child.reset()
    var edited = stored
    try edited.setValue("x", forKey: "isbn")
    assertStoreError(.objectNotFound) { try child.apply(edited) }
    assertStoreError(.objectNotFound) { try child.object(with: book.objectID).snapshot() }
  }

  func testPinnedContextsReadTheirGeneration() throws {
    let (open, writer, book) = try makeLibrary()
    guard type(of: open.store).hasQueryGenerations else {
      assertStoreError(.unsupported) { try open.newContext().setQueryGeneration(from: .current) }
      return
    }
    let context = open.newContext()
    try context.setQueryGeneration(from: .current)
    XCTAssertEqual(try context.count(for: FetchRequest<ManagedObject>(entityName: "Book")), 1)
    try book.setValue("Exiles", forKey: "title")
    try writer.save()
    let fetched = try context.fetch(FetchRequest<ManagedObject>(entityName: "Book"), as: ObjectSnapshot.self, including: ["tags"])
    XCTAssertEqual(try fetched.first?["title"] as? String, "Ulysses")
    XCTAssertEqual(try context.object(with: book.objectID).snapshot(including: ["tags"]), fetched.first)
    var newer = try book.snapshot()
    try newer.setValue("Dubliners", forKey: "title")
    assertStoreError(.mergeConflict) { try context.apply(newer) }
    XCTAssertEqual(try context.existingObject(with: book.objectID).text("title"), "Ulysses", "the state does not change")
    writer.delete(book)
    try writer.save()
    XCTAssertEqual(try context.object(with: newer.objectID ?? book.objectID).snapshot()["title"] as? String, "Ulysses")
  }

  // MARK: Random edits

  /// Two sides set some of three numbers each; the result matches a table by property.
  func testRandomEditsMatchTheTable() throws {
    var random = SeededGenerator(seed: 1_728)
    let policies: [MergePolicy] = [.error, .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback]
    let open = try makeStore(MergeModel.compiled)
    let keys = ["a", "b", "c"]
    for round in 0..<150 {
      let policy = try XCTUnwrap(policies.randomElement(using: &random))
      var values = (0..<3).map { _ in Int64.random(in: 0..<3, using: &random) }
      let other = open.context()
      let theirs = try other.insert("Item", ["key": "k\(round)"])
      for (key, value) in zip(keys, values) { try theirs.setValue(value, forKey: key) }
      try other.save()
      var snapshot = try theirs.snapshot()
      var (mine, now) = ([Int64?](repeating: nil, count: 3), values)
      for (position, key) in keys.enumerated() {
        if Bool.random(using: &random) {
          mine[position] = Int64.random(in: 0..<3, using: &random)
          try snapshot.setValue(mine[position], forKey: key)
        }
        if Bool.random(using: &random) {
          now[position] = Int64.random(in: 0..<3, using: &random)
          try theirs.setValue(now[position], forKey: key)
        }
      }
      try other.save()
      let both = (0..<3).filter { mine[$0] != nil && now[$0] != values[$0] && now[$0] != mine[$0] }
      values = now
      for (position, value) in mine.enumerated() {
        guard let value, both.isEmpty || policy.mergeType != .rollback else { continue }
        if both.contains(position), policy.mergeType == .mergeByPropertyStoreTrump { continue }
        values[position] = value
      }
      let context = open.context(policy)
      if !both.isEmpty, policy.mergeType == .error {
        let error = assertStoreError(.mergeConflict) { try context.apply(snapshot) }
        XCTAssertEqual(error?.mergeConflicts.first?.propertyNames, both.map { keys[$0] }, "round \(round)")
        continue
      }
      let applied = try context.apply(snapshot)
      XCTAssertEqual(applied.numbers, values, "round \(round), \(policy)")
      try context.save()
      XCTAssertEqual(try open.numbers(applied.objectID), values, "round \(round), \(policy)")
    }
  }
}
