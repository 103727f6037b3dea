import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest
import _TestSupport

// Rejected transactions, and what observers must not do.

extension TransactionObserverSpecification {
  // MARK: Rejection

  func testARejectedSaveIsRolledBackWithTheErrorOfTheObserver() throws {
    let open = try makeStore()
    let observer = try observe(open)
    let context = open.newContext()
    let book = try context.insert("Book", ["title": "One"])
    observer.rejects = true
    XCTAssertThrowsError(try context.save()) { XCTAssertEqual($0 as? RecordingObserver.Rejection, .init()) }
    XCTAssertEqual(observer.takeLines(), ["insert Book", "will commit", "did roll back"])
    XCTAssertEqual(try open.newContext().all("Book").count, 0)
    XCTAssertTrue(context.hasChanges)
    observer.rejects = false
    try context.save()
    XCTAssertEqual(try open.newContext().all("Book").map(\.objectID), [book.objectID])
  }

  func testARejectedBatchRequestIsRolledBack() throws {
    let open = try makeStore()
    let context = open.newContext()
    try context.insert("Chapter", ["title": "a", "pages": 1])
    try context.save()
    let observer = try observe(open)
    observer.rejects = true
    let requests: [(ManagedObjectContext) throws -> Void] = [
      { _ = try $0.execute(BatchInsertRequest(entityName: "Chapter", objects: [["title": "b"]])) },
      { _ = try $0.execute(BatchUpdateRequest(entityName: "Chapter", propertiesToUpdate: ["pages": 2])) },
      { _ = try $0.execute(BatchDeleteRequest(fetchRequest: FetchRequest<ManagedObject>(entityName: "Chapter"))) },
    ]
    for request in requests {
      XCTAssertThrowsError(try request(context))
      XCTAssertEqual(try open.newContext().all("Chapter").map { $0.integer("pages") }, [1])
    }
  }

  // MARK: Transactions over several requests

  func testATransactionOverSeveralRequestsIsOneTransaction() throws {
    let open = try makeStore()
    let observer = try observe(open)
    let context = open.newContext()
    try context.performTransaction {
      try context.insert("Tag", ["name": "a"])
      try context.save()
      try context.insert("Tag", ["name": "b"])
      try context.save()
      _ = try context.execute(BatchUpdateRequest(entityName: "Tag", propertiesToUpdate: ["name": nil]))
    }
    XCTAssertEqual(
      observer.takeLines(),
      ["insert Tag", "insert Tag", "update Tag name", "update Tag name", "will commit", "did commit"])
  }

  func testTheChangesOfAFailedPartAreUndone() throws {
    let open = try makeStore()
    let observer = try observe(open)
    let context = open.newContext()
    try context.performTransaction {
      try context.insert("Tag", ["name": "a"])
      try context.save()
      do {
        try context.performTransaction {
          try context.insert("Tag", ["name": "b"])
          try context.insert("Tag", ["name": "c"])
          try context.save()
          throw RecordingObserver.Rejection()
        }
      } catch is RecordingObserver.Rejection {}
      try context.insert("Chapter", ["title": "d"])
      try context.save()
    }
    let lines = observer.takeLines()
    XCTAssertEqual(lines.prefix(4), ["insert Tag", "insert Tag", "insert Tag", "undone to 1"])
    XCTAssertEqual(lines.suffix(2), ["will commit", "did commit"])
    XCTAssertEqual(lines.filter { $0 == "insert Chapter" }.count, 1)
  }

  func testARejectedTransactionIsRolledBackAsAWhole() throws {
    let open = try makeStore()
    let observer = try observe(open)
    let context = open.newContext()
    observer.rejects = true
    XCTAssertThrowsError(
      try context.performTransaction {
        try context.insert("Tag", ["name": "a"])
        try context.save()
        try context.insert("Tag", ["name": "b"])
        try context.save()
      }
    ) { XCTAssertEqual($0 as? RecordingObserver.Rejection, .init()) }
    XCTAssertEqual(observer.takeLines(), ["insert Tag", "insert Tag", "will commit", "did roll back"])
    XCTAssertEqual(try open.newContext().all("Tag").count, 0)
  }

  /// The observers of all stores are asked before the first commit.
  func testARejectionInOneOfSeveralStoresRollsAllBack() throws {
    let coordinator = PersistentStoreCoordinator(compiledModel: SpecificationModels.library)
    let descriptions = try (0..<2).map { _ in try storeUnderTest.storeDescription(in: makeFolder()) }
    let stores = try descriptions.map { description in try waitFor { try await coordinator.addPersistentStore(with: description) } }
    defer { for store in stores { XCTAssertNoThrow(try coordinator.remove(store)) } }
    let context = ManagedObjectContext(coordinator: coordinator)
    let chapters = try ["a", "b"].map { try context.insert("Chapter", ["title": $0]) }
    for (chapter, store) in zip(chapters, stores) { try context.assign(chapter, to: store) }
    try context.save()
    func titles() throws -> [String] {
      try ManagedObjectContext(coordinator: coordinator).all("Chapter").compactMap { $0.text("title") }.sorted()
    }
    let rejected = Mutex<String?>(nil)
    let observer = CallbackObserver { transaction in
      if transaction.storeIdentifier == rejected.withLock({ $0 }) { throw RecordingObserver.Rejection() }
    }
    try coordinator.addTransactionObserver(observer)
    let requests: [() throws -> Void] = [
      {
        let chapters = try context.all("Chapter")
        for chapter in chapters { try chapter.setValue("c", forKey: "title") }
        do { try context.save() } catch {
          XCTAssertTrue(chapters.allSatisfy(\.hasChanges))
          context.rollback()
          throw error
        }
      },
      { _ = try context.execute(BatchUpdateRequest(entityName: "Chapter", propertiesToUpdate: ["title": "c"])) },
      { _ = try context.execute(BatchDeleteRequest(entityName: "Chapter")) },
      {
        try context.performTransaction {
          for chapter in try context.all("Chapter") { try chapter.setValue("c", forKey: "title") }
          try context.save()
        }
      },
    ]
    for store in stores {
      rejected.withLock { $0 = store.identifier }
      for request in requests {
        XCTAssertThrowsError(try request()) { XCTAssertEqual($0 as? RecordingObserver.Rejection, .init()) }
        XCTAssertEqual(try titles(), ["a", "b"])
      }
    }
    rejected.withLock { $0 = nil }
    context.reset()
    for (title, chapter) in zip(["d", "e"], try context.all("Chapter")) { try chapter.setValue(title, forKey: "title") }
    try context.save()
    XCTAssertFalse(context.hasChanges)
    XCTAssertEqual(try titles(), ["d", "e"])
  }

  // MARK: Calls of an observer

  func testWritingInACallbackIsAnError() throws {
    let folder = try makeFolder()
    let isHistoryStore =
      PersistentStoreCoordinator.storeClass(of: storeUnderTest.storeDescription(in: folder).type) is any HistoryStore.Type
    let open = try openStore(in: folder) { $0.historyTracking = isHistoryStore ? true : nil }
    let context = open.newContext()
    let book = try context.insert("Book", ["title": "One"])
    try context.save()
    let errors = Mutex<[String]>([])
    let (coordinator, store) = (open.coordinator, open.persistentStore)
    @Sendable func write() {
      let other = ManagedObjectContext(coordinator: coordinator)
      var requests: [() throws -> Void] = [
        {
          try other.insert("Tag", ["name": "t"])
          try other.save()
        },
        { try other.performTransaction { try other.save() } },
        { _ = try other.execute(BatchInsertRequest(entityName: "Chapter", objects: [["title": "x"]])) },
        { _ = try other.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["title": "x"])) },
        { _ = try other.execute(BatchDeleteRequest(entityName: "Book")) },
        { try coordinator.remove(store) },
      ]
      if isHistoryStore { requests.append { _ = try coordinator.execute(.deleteHistory(before: Date())) } }
      for request in requests {
        do {
          try request()
          errors.withLock { $0.append("no error") }
        } catch { errors.withLock { $0.append("\(error)") } }
      }
    }
    let observer = CallbackObserver { _ in write() }
    (observer.change, observer.commit) = ({ write() }, { write() })
    try open.coordinator.addTransactionObserver(observer)
    try book.setValue("Two", forKey: "title")
    try context.save()
    let found = errors.withLock { $0 }
    XCTAssertEqual(found.count, isHistoryStore ? 21 : 18)
    for error in found { XCTAssertTrue(error.contains("transaction observer"), error) }
    open.coordinator.removeTransactionObserver(observer)
    try book.setValue("Three", forKey: "title")
    try context.save()
    XCTAssertEqual(try open.newContext().all("Book").map { $0.text("title") }, ["Three"])
    XCTAssertEqual(try open.newContext().all("Tag").count, 0)
  }

  func testChangesOfObjectsInACallbackRemainUnsaved() throws {
    let open = try makeStore()
    let context = open.newContext()
    let book = try context.insert("Book", ["title": "One", "year": 1])
    let tag = try context.insert("Tag", ["name": "a"])
    let chapters = try (1...3).map { try context.insert("Chapter", ["title": "\($0)"]) }
    try context.save()
    nonisolated(unsafe) let (unsafeBook, unsafeTag, unsafeChapters, unsafeContext) = (book, tag, chapters, context)
    let observer = CallbackObserver { _ in
      try unsafeBook.setValue("Three", forKey: "title")
      try unsafeBook.setValue(Set([unsafeTag]), forKey: "tags")
      try unsafeChapters[0].setValue(unsafeBook, forKey: "book")
      unsafeContext.delete(unsafeChapters[1])
      unsafeContext.delete(unsafeChapters[2])
      try unsafeContext.insert("Chapter", ["title": "new"])
    }
    try open.coordinator.addTransactionObserver(observer)
    try book.setValue("Two", forKey: "title")
    try book.setValue(2, forKey: "year")
    try chapters[1].setValue("changed", forKey: "title")
    try context.save()
    open.coordinator.removeTransactionObserver(observer)
    XCTAssertTrue(context.hasChanges)
    XCTAssertEqual(book.text("title"), "Three")
    XCTAssertEqual(Set(book.changedValues().keys), ["title", "tags", "chapters"])
    var stored = try find("Book", "title", "Two", in: open.newContext())
    XCTAssertEqual(stored.integer("year"), 2)
    XCTAssertEqual(stored.members("tags").count, 0)
    XCTAssertEqual(try open.newContext().all("Chapter").count, 3)
    try context.save()
    XCTAssertFalse(context.hasChanges)
    stored = try find("Book", "title", "Three", in: open.newContext())
    XCTAssertEqual(stored.members("tags").count, 1)
    XCTAssertEqual(stored.list("chapters").map { $0.text("title") }, ["1"])
    XCTAssertEqual(Set(try open.newContext().all("Chapter").map { $0.text("title") }), ["1", "new"])
  }

  func testChangesInACallbackRemainUnsavedIfTheSaveIsMerged() throws {
    for (policy, title) in [(MergePolicy.mergeByPropertyObjectTrump, "Mine"), (.mergeByPropertyStoreTrump, "Theirs")] {
      let open = try makeStore()
      let context = open.newContext()
      context.mergePolicy = policy
      let book = try context.insert("Book", ["title": "One", "year": 1, "pages": 1])
      let tags = try ["a", "b", "c", "d"].map { try context.insert("Tag", ["name": $0]) }
      let chapters = try (1...3).map { try context.insert("Chapter", ["title": "\($0)"]) }
      try book.setValue(Array(chapters[1...]), forKey: "chapters")
      try book.setValue(Set([tags[0]]), forKey: "tags")
      try context.save()
      let other = open.newContext()
      let theirs = try find("Book", "title", "One", in: other)
      try theirs.setValue("Theirs", forKey: "title")
      try theirs.setValue(9, forKey: "pages")
      try theirs.setValue(Set(try ["a", "b"].map { try find("Tag", "name", $0, in: other) }), forKey: "tags")
      try other.save()
      nonisolated(unsafe) let (unsafeBook, unsafeTags, unsafeChapters, unsafeContext) = (book, tags, chapters, context)
      nonisolated(unsafe) var isFirst = true
      let observer = CallbackObserver { _ in
        guard isFirst else { return }
        isFirst = false
        try unsafeBook.setValue(3, forKey: "year")
        let members = try XCTUnwrap(unsafeBook.value(forKey: "tags") as? Set<ManagedObject>)
        try unsafeBook.setValue(members.subtracting([unsafeTags[0]]).union([unsafeTags[3]]), forKey: "tags")
        try unsafeChapters[0].setValue("edited", forKey: "title")
        try unsafeChapters[0].setValue(unsafeBook, forKey: "book")
        unsafeContext.delete(unsafeChapters[1])
        try unsafeContext.insert("Chapter", ["title": "new"])
      }
      try open.coordinator.addTransactionObserver(observer)
      try book.setValue("Mine", forKey: "title")
      try book.setValue(2, forKey: "year")
      try book.setValue(Set([tags[0], tags[2]]), forKey: "tags")
      try chapters[2].setValue("saved", forKey: "title")
      try context.save()
      open.coordinator.removeTransactionObserver(observer)
      XCTAssertFalse(isFirst)
      XCTAssertEqual(book.text("title"), title, "The merged value, not the one that was to be saved.")
      XCTAssertEqual(book.integer("year"), 3)
      XCTAssertEqual(Set(book.changedValues().keys), ["year", "tags", "chapters"])
      var stored = try find("Book", "title", title, in: open.newContext())
      XCTAssertEqual(stored.integer("year"), 2)
      XCTAssertEqual(Set(stored.members("tags").map { $0.text("name") }), ["a", "b", "c"])
      try context.save()
      XCTAssertFalse(context.hasChanges)
      stored = try find("Book", "title", title, in: open.newContext())
      XCTAssertEqual(stored.integer("year"), 3)
      XCTAssertEqual(Set(stored.members("tags").map { $0.text("name") }), ["b", "c", "d"])
      XCTAssertEqual(stored.list("chapters").map { $0.text("title") }, ["saved", "edited"])
      XCTAssertEqual(Set(try open.newContext().all("Chapter").map { $0.text("title") }), ["edited", "saved", "new"])
    }
  }

  func testAFailedSaveIsReportedAsRolledBack() throws {
    let open = try makeStore()
    let context = open.newContext()
    try context.insert("Tag", ["name": "a"])
    try context.save()
    let observer = try observe(open)
    let other = open.newContext()
    try other.insert("Chapter", ["title": "c"])
    try other.insert("Tag", ["name": "a"])
    XCTAssertThrowsError(try other.save())
    let lines = observer.takeLines()
    XCTAssertFalse(lines.contains("did commit"))
    XCTAssertTrue(lines.isEmpty || lines.last == "did roll back", "\(lines)")
    XCTAssertEqual(try open.newContext().all("Chapter").count, 0)
  }
}
