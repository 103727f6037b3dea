import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// Tokens in the histories of stores: the transactions after them, conditions, and purges before them.
public final class HistoryTokenSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testTokenIsThePositionAfterATransaction", { $0.testTokenIsThePositionAfterATransaction }),
        ("testTokenOfAnotherStoreIsRejected", { $0.testTokenOfAnotherStoreIsRejected }),
        ("testTokenRoundTripsThroughCoding", { $0.testTokenRoundTripsThroughCoding }),
        ("testResultTypesSelectTheResult", { $0.testResultTypesSelectTheResult }),
        ("testPredicatesFilterTransactionsAndChanges", { $0.testPredicatesFilterTransactionsAndChanges }),
        ("testEachKindInATransactionIsATransactionOfItsOwn", { $0.testEachKindInATransactionIsATransactionOfItsOwn }),
        ("testTheSourceOfChangesIsTheirKind", { $0.testTheSourceOfChangesIsTheirKind }),
        ("testDeletingHistoryUpToATokenKeepsTheTokenValid", { $0.testDeletingHistoryUpToATokenKeepsTheTokenValid }),
        ("testStartOfHistoryIsNotAnApplicationTransaction", { $0.testStartOfHistoryIsNotAnApplicationTransaction }),
        ("testInitialTokenIsValidUntilATransactionIsDeleted", { $0.testInitialTokenIsValidUntilATransactionIsDeleted }),
        ("testRetentionCountsApplicationTransactions", { $0.testRetentionCountsApplicationTransactions }),
        ("testConsumersRetainUnreadTransactions", { $0.testConsumersRetainUnreadTransactions }),
        ("testDisablingHistoryDeletesItAndIsRejectedDuringReads", { $0.testDisablingHistoryDeletesItAndIsRejectedDuringReads }),
        ("testLargeTransactionsAreReadInBatches", { $0.testLargeTransactionsAreReadInBatches }),
        ("testABatchUpdateRecordsTheDefaultsOfAComposite", { $0.testABatchUpdateRecordsTheDefaultsOfAComposite }),
        ("testASmallExternalValueIsRecordedWithItsBytes", { $0.testASmallExternalValueIsRecordedWithItsBytes }),
        ("testEachStoreReportsItsOwnHistory", { $0.testEachStoreReportsItsOwnHistory }),
      ] as [(String, (HistoryTokenSpecification) -> () throws -> Void)])
  }

  // MARK: Tokens

  func testABatchUpdateRecordsTheDefaultsOfAComposite() throws {
    for level in HistoryLevel.allCases {
      let open = try openStore(in: makeFolder(), CompositeSpecification.withDefaults) {
        ($0.historyTracking, $0.historyLevel) = (true, level)
      }
      let context = open.newContext()
      try context.insert("Person", ["name": "Ann", "home": nil, "estate": nil])
      try context.insert("Person", ["name": "Bob", "home": ["city": "Bonn"]])
      try context.save()
      let before = try token(open)
      _ = try context.execute(BatchUpdateRequest(entityName: "Person", propertiesToUpdate: ["home.zip": "1"]))
      let updated = (try transactions(open, after: before).last?.changes ?? []).map { Set($0.updatedProperties) }
      XCTAssertEqual(Set(updated), [["home.zip"], ["home.zip", "home.city", "home.floor"]], "\(level)")
    }
  }

  func testASmallExternalValueIsRecordedWithItsBytes() throws {
    var photo = AttributeDescription(name: "photo", type: .binary, isOptional: true)
    photo.allowsExternalBinaryDataStorage = true
    let model = SpecificationModels.compile([SpecificationModels.entity("Person", [.attribute(photo)])])
    let open = try openStore(in: makeFolder(), model) { ($0.historyTracking, $0.historyLevel) = (true, .values) }
    let context = open.newContext()
    let person = try context.insert("Person")
    try person.setExternalData(ExternalData(Data([1, 2, 3])), forKey: "photo")
    try context.save()
    XCTAssertEqual(try transactions(open).last?.changes?.first?.newValues?["photo"] as? Data, Data([1, 2, 3]))
    try person.setExternalData(ExternalData(Data([4])), forKey: "photo")
    try context.save()
    let change = try XCTUnwrap(transactions(open).last?.changes?.first)
    XCTAssertEqual([change.oldValues?["photo"] as? Data, change.newValues?["photo"] as? Data], [Data([1, 2, 3]), Data([4])])
  }

  func testTokenIsThePositionAfterATransaction() throws {
    let open = try makeTracked()
    for name in ["1", "2", "3"] { try open.insert("Tag", ["name": .text(name)]) }
    let all = try transactions(open)
    XCTAssertEqual(all.count, 3)
    XCTAssertEqual(try transactions(open, after: all[0].token), Array(all[1...]))
    XCTAssertEqual(try open.coordinator.execute(.fetchHistory(after: all[1])).transactions, [all[2]])
    XCTAssertEqual(try transactions(open, after: token(open)), [])
    XCTAssertEqual(try token(open), all[2].token)
    XCTAssertEqual(try open.coordinator.execute(.fetchHistory(after: all[0].token)).lastToken, all[2].token)
    XCTAssertEqual(try open.coordinator.execute(.fetchHistory(after: Date(timeIntervalSinceNow: 60))).transactions, [])
    XCTAssertEqual(try open.coordinator.execute(.fetchHistory(after: Date(timeIntervalSinceNow: -60))).transactions, all)
    XCTAssertEqual(all[0].token.isOlder(than: all[1].token, inStore: open.persistentStore.identifier), true)
    XCTAssertEqual(all[1].token.isOlder(than: all[0].token, inStore: open.persistentStore.identifier), false)
    XCTAssertNil(all[0].token.isOlder(than: all[1].token, inStore: "another"))
    // A token that this history never had.
    let strange = PersistentHistoryToken(HistoryPosition(number: 1_000, mark: 7), of: open.persistentStore.identifier)
    assertStoreError(.historyTokenUnknown) { try transactions(open, after: strange) }
    let copied = PersistentHistoryToken(HistoryPosition(number: all[0].transactionNumber, mark: 7), of: open.persistentStore.identifier)
    assertStoreError(.historyTokenUnknown) { try transactions(open, after: copied) }
  }

  func testTokenOfAnotherStoreIsRejected() throws {
    let (one, other) = (try makeTracked(), try makeTracked())
    try other.insert("Tag", ["name": .text("red")])
    assertStoreError(.historyTokenOfOtherStore) { try transactions(one, after: token(other)) }
  }

  func testTokenRoundTripsThroughCoding() throws {
    let open = try makeTracked()
    try open.insert("Tag", ["name": .text("red")])
    let place = try token(open)
    XCTAssertEqual(try JSONDecoder().decode(PersistentHistoryToken.self, from: JSONEncoder().encode(place)), place)
    XCTAssertEqual(PersistentHistoryToken(place.description), place)
    for text in ["", "x", "\(place.description)/1", "A/1/2", place.description + "+" + place.description, "\(UUID())/0/1"] {
      XCTAssertNil(PersistentHistoryToken(text), text)
    }
    for text in [#"{"A": {"number": -1, "mark": 2}}"#, #"{"\#(UUID())": {"number": -1, "mark": 2}}"#, "[]", "{"] {
      XCTAssertThrowsError(try JSONDecoder().decode(PersistentHistoryToken.self, from: Data(text.utf8)), text)
    }
    assertStoreError(.invalidHistoryToken) { try JSONDecoder().decode(PersistentHistoryToken.self, from: Data("[1]".utf8)) }
  }

  func testResultTypesSelectTheResult() throws {
    let open = try makeTracked()
    let place = try token(open)
    let context = open.newContext()
    let tag = try context.insert("Tag", ["name": "red"])
    try context.save()
    try tag.setValue("blue", forKey: "name")
    try context.save()
    func result(_ type: PersistentHistoryResultType) throws -> PersistentHistoryResult {
      var request = PersistentHistoryChangeRequest.fetchHistory(after: place)
      request.resultType = type
      return try context.execute(request)
    }
    XCTAssertTrue(try result(.statusOnly).status)
    XCTAssertEqual(try result(.objectIDs).objectIDs, [tag.objectID])
    XCTAssertEqual(try result(.count).count, 2)
    XCTAssertEqual(try result(.transactionsOnly).transactions.map(\.changes), [nil, nil])
    XCTAssertEqual(try result(.changesOnly).changes.map(\.changeType), [.insert, .update])
    XCTAssertEqual(try result(.transactionsAndChanges).transactions.map { $0.changes?.count }, [1, 1])
    var limited = PersistentHistoryChangeRequest.fetchHistory(after: place)
    limited.fetchLimit = 1
    let first = try context.execute(limited)
    XCTAssertEqual(first.transactions.count, 1)
    let rest = try context.execute(.fetchHistory(after: try XCTUnwrap(first.lastToken)))
    XCTAssertEqual(rest.transactions.count, 1)
  }

  func testPredicatesFilterTransactionsAndChanges() throws {
    let open = try makeTracked()
    let place = try token(open)
    for author in ["a", "b", nil] {
      let context = open.newContext()
      context.transactionAuthor = author
      context.name = author.map { "context of \($0)" }
      let tag = try context.insert("Tag", ["name": "tag of \(author ?? "nobody")"])
      try context.insert("Book", ["title": "book of \(author ?? "nobody")"])
      try context.save()
      try tag.setValue("changed by \(author ?? "nobody")", forKey: "name")
      try context.save()
    }
    func fetch(_ transactions: String?, _ changes: String? = nil) throws -> [PersistentHistoryTransaction] {
      var request = PersistentHistoryChangeRequest.fetchHistory(after: place)
      request.transactionPredicate = try transactions.map { try FetchPredicate(format: $0) }
      request.changePredicate = try changes.map { try FetchPredicate(format: $0) }
      return try open.coordinator.execute(request).transactions
    }
    XCTAssertEqual(try fetch("author == 'a'").map(\.author), ["a", "a"])
    XCTAssertEqual(try fetch("author != 'a'").map(\.author), ["b", "b", nil, nil])
    XCTAssertEqual(try fetch("author == nil").map(\.author), [nil, nil])
    XCTAssertEqual(try fetch("author IN {'a', 'b'} AND contextName ENDSWITH 'b'").map(\.author), ["b", "b"])
    XCTAssertEqual(try fetch("kind == 'save'").count, 6)
    XCTAssertEqual(try fetch("kind == 'batch'").count, 0)
    XCTAssertEqual(try fetch("author == 'nobody at all'").count, 0)
    XCTAssertEqual(try fetch(nil, "entity == 'Tag'").map { $0.changes?.count }, [1, 1, 1, 1, 1, 1])
    XCTAssertEqual(try fetch(nil, "entity == 'Book'").count, 3)
    XCTAssertEqual(try fetch("author == 'a'", "changeType == 'update' AND ANY properties == 'name'").count, 1)
    XCTAssertEqual(try fetch(nil, "ANY properties == 'title'").count, 0)
    let number = try XCTUnwrap(fetch("author == 'b'").first?.transactionNumber)
    XCTAssertEqual(try fetch("token > \(number)").count, 3)
    XCTAssertEqual(try fetch("token <= \(number)").count, 3)
    XCTAssertThrowsError(try fetch("colour == 'red'")) { XCTAssertTrue($0 is FetchPredicateError, "\($0)") }
    XCTAssertThrowsError(try fetch(nil, "author == 'a'")) { XCTAssertTrue($0 is FetchPredicateError, "\($0)") }
  }

  func testEachKindInATransactionIsATransactionOfItsOwn() throws {
    let open = try makeTracked()
    let place = try token(open)
    let context = open.newContext()
    context.transactionAuthor = "a"
    try open.store.performTransaction {
      try context.insert("Tag", ["name": "1"])
      try context.save()
      try context.execute(BatchInsertRequest(entityName: "Tag", objects: [["name": "2"], ["name": "3"]]))
      try context.execute(BatchInsertRequest(entityName: "Tag", objects: [["name": "4"]]))
      try context.insert("Tag", ["name": "5"])
      try context.save()
    }
    let found = try transactions(open, after: place)
    XCTAssertEqual(found.map(\.kind), [.save, .batch, .save])
    XCTAssertEqual(found.map { $0.changes?.count }, [1, 3, 1])
    for (kind, counts) in [("save", [1, 1]), ("batch", [3]), ("migration", [])] {
      var request = PersistentHistoryChangeRequest.fetchHistory(after: place)
      request.transactionPredicate = try FetchPredicate(format: "kind == %@", kind)
      XCTAssertEqual(try open.newContext().execute(request).transactions.map { $0.changes?.count }, counts, kind)
    }
    XCTAssertEqual(try transactions(open, after: found[1].token).map(\.kind), [.save])
  }

  // MARK: Purges

  /// A write that is not the application's own has the kind of its source, whatever the operation, and is a transaction of its own.
  func testTheSourceOfChangesIsTheirKind() throws {
    let open = try makeTracked()
    let context = open.newContext()
    try context.performTransaction {
      try context.insert("Tag", ["name": "own"])
      try context.save()
      for (number, source) in ChangeSource.allCases.enumerated() {
        context.changeSource = source
        try context.insert("Tag", ["name": "\(number)"])
        try context.save()
        try context.execute(BatchInsertRequest(entityName: "Tag", objects: [["name": "batch \(number)"]]))
      }
    }
    let found = try transactions(open)
    XCTAssertEqual(found.map(\.kind), [.save, .batch, .import, .transfer, .sync])
    XCTAssertEqual(found.map { $0.changes?.count }, [2, 1, 2, 2, 2])
    XCTAssertEqual(found.map(\.isWhole), Array(repeating: false, count: 5))
    for transaction in found {
      var request = PersistentHistoryChangeRequest.fetchHistory(after: nil)
      request.transactionPredicate = try FetchPredicate(format: "kind == %@", transaction.kind.rawValue)
      XCTAssertEqual(try context.execute(request).transactions.map(\.id), [transaction.id])
    }
    var request = PersistentHistoryChangeRequest.fetchHistory(after: nil)
    request.transactionPredicate = try FetchPredicate(format: "kind != 'sync' AND kind != 'begin'")
    XCTAssertEqual(try context.execute(request).transactions.count, 4)
  }

  func testDeletingHistoryUpToATokenKeepsTheTokenValid() throws {
    let open = try makeTracked()
    for name in ["1", "2", "3", "4"] { try open.insert("Tag", ["name": .text(name)]) }
    let all = try open.coordinator.execute(.fetchHistory(after: nil)).transactions
    XCTAssertEqual(all.count, 4)
    _ = try open.coordinator.execute(.deleteHistory(before: all[1].token))
    XCTAssertEqual(try open.coordinator.execute(.fetchHistory(after: nil)).transactions, Array(all[1...]))
    XCTAssertEqual(try transactions(open, after: all[1].token), Array(all[2...]), "the place itself is good further on")
    let error = assertStoreError(.historyTokenExpired) { try transactions(open, after: all[0].token) }
    XCTAssertTrue(error?.message.contains(all[1].token.description) ?? false, error?.message ?? "")
    _ = try open.coordinator.execute(.deleteHistory(before: Date(timeIntervalSinceNow: -60)))
    XCTAssertEqual(try open.coordinator.execute(.fetchHistory(after: nil)).transactions.count, 3)
    _ = try open.coordinator.execute(.deleteHistory(before: nil))
    XCTAssertEqual(try open.coordinator.execute(.fetchHistory(after: nil)).transactions, [all[3]], "the newest is never deleted")
    try open.insert("Tag", ["name": .text("5")])
    let last = try XCTUnwrap(transactions(open).last)
    XCTAssertGreaterThan(last.transactionNumber, all[3].transactionNumber, "no number comes twice")
  }

  func testStartOfHistoryIsNotAnApplicationTransaction() throws {
    let open = try makeTracked()
    let coordinator = open.coordinator
    let start = try token(open)
    func count(_ type: PersistentHistoryResultType, _ condition: String? = nil) throws -> Int {
      var request = PersistentHistoryChangeRequest.fetchHistory(after: nil)
      request.resultType = type
      request.transactionPredicate = try condition.map { try FetchPredicate(format: $0) }
      return try coordinator.execute(request).transactions.count
    }
    XCTAssertEqual(try count(.transactionsAndChanges), 0)
    XCTAssertEqual(try coordinator.execute(.fetchHistory(after: .distantPast)).transactions, [])
    XCTAssertNil(try coordinator.execute(.fetchHistory(after: nil)).lastToken)
    XCTAssertEqual(try count(.transactionsOnly, "author != 'app'"), 0)
    // A condition on the kind finds the record.
    XCTAssertEqual(try count(.transactionsOnly, "kind == 'begin'"), 1)
    XCTAssertEqual(try count(.transactionsOnly, "kind IN {'begin', 'save'} AND author == nil"), 1)
    XCTAssertEqual(try count(.transactionsOnly, "NOT kind == 'save'"), 1)
    let context = open.newContext()
    context.transactionAuthor = "app"
    for name in ["1", "2", "3"] {
      try context.insert("Tag", ["name": name])
      try context.save()
    }
    let all = try transactions(open)
    XCTAssertEqual(all.map(\.author), ["app", "app", "app"])
    XCTAssertEqual(try transactions(open, after: start), all)
    XCTAssertEqual(try count(.transactionsOnly, "author != 'app'"), 0)
    XCTAssertEqual(try count(.transactionsOnly, "kind == 'begin' OR author == 'app'"), 4)
    var limited = PersistentHistoryChangeRequest.fetchHistory(after: nil)
    limited.fetchLimit = 1
    XCTAssertEqual(try coordinator.execute(limited).transactions, [all[0]])
    let walked = try waitFor {
      var found: [PersistentHistoryTransaction] = []
      for try await transaction in coordinator.history() { found.append(transaction) }
      return found
    }
    XCTAssertEqual(walked.map(\.transactionNumber), all.map(\.transactionNumber))
    let observed = try waitFor {
      var observer = HistoryObserver(coordinator).makeAsyncIterator()
      return try await observer.next()
    }
    XCTAssertEqual(observed?.transactionNumber, all[0].transactionNumber)
  }

  func testInitialTokenIsValidUntilATransactionIsDeleted() throws {
    let open = try makeTracked()
    let coordinator = open.coordinator
    let start = try token(open)
    // A consumer that has read nothing does not count as having read a transaction.
    try coordinator.registerHistoryConsumer("index")
    for name in ["1", "2"] { try open.insert("Tag", ["name": .text(name)]) }
    let all = try transactions(open)
    _ = try coordinator.execute(.deleteHistory(before: all[0]))
    _ = try coordinator.execute(.deleteHistory(before: .distantPast))
    XCTAssertEqual(try transactions(open, after: start), all)
    assertStoreError(.historyConsumerBehind) { try coordinator.execute(.deleteHistory(before: all[1])) }
    try coordinator.markHistoryConsumed(upTo: all[0].token, by: "index")
    _ = try coordinator.execute(.deleteHistory(before: all[1]))
    XCTAssertEqual(try transactions(open), [all[1]])
    let error = assertStoreError(.historyTokenExpired) { try transactions(open, after: start) }
    XCTAssertEqual(error?.coreDataCode, 134301)
  }

  func testRetentionCountsApplicationTransactions() throws {
    let open = try openStore(in: makeFolder()) {
      $0.historyTracking = true
      $0.historyRetention = .transactions(2)
    }
    let start = try token(open)
    for name in ["1", "2"] { try open.insert("Tag", ["name": .text(name)]) }
    XCTAssertEqual(try transactions(open, after: start).count, 2)
    for number in 3...80 { try open.insert("Tag", ["name": .text("\(number)")]) }
    XCTAssertLessThan(try transactions(open).count, 80)
    assertStoreError(.historyTokenExpired) { try transactions(open, after: start) }
  }

  func testConsumersRetainUnreadTransactions() throws {
    let open = try makeTracked()
    let coordinator = open.coordinator
    for name in ["1", "2", "3"] { try open.insert("Tag", ["name": .text(name)]) }
    let all = try transactions(open)
    try coordinator.registerHistoryConsumer("sync", after: all[0].token)
    try coordinator.registerHistoryConsumer("index")
    try coordinator.registerHistoryConsumer("sync", after: all[2].token)
    XCTAssertEqual(try coordinator.historyConsumers().map(\.name), ["index", "sync"])
    XCTAssertEqual(try coordinator.historyConsumers().map(\.token), [nil, all[0].token], "who is entered stays where it is")
    let error = assertStoreError(.historyConsumerBehind) { try coordinator.execute(.deleteHistory(before: all[2].token)) }
    XCTAssertTrue(error?.message.contains("“index”, “sync”") ?? false, error?.message ?? "")
    try coordinator.markHistoryConsumed(upTo: all[2].token, by: "index")
    try coordinator.markHistoryConsumed(upTo: all[1].token, by: "sync")
    try coordinator.markHistoryConsumed(upTo: all[0].token, by: "sync")
    XCTAssertEqual(try coordinator.historyConsumers().map(\.token), [all[2].token, all[1].token])
    _ = try coordinator.execute(.deleteHistory(before: all[2].token))
    XCTAssertEqual(try transactions(open), [all[2]])
    assertStoreError(.historyTokenExpired) { try transactions(open, after: coordinator.historyConsumers()[1].token) }
    assertStoreError(.historyConsumerBehind) { try coordinator.markHistoryConsumed(upTo: all[2].token, by: "nobody") }
    XCTAssertTrue(try coordinator.removeHistoryConsumer("sync"))
    XCTAssertFalse(try coordinator.removeHistoryConsumer("sync"))
    // Forcing it ignores consumers that have not read.
    try coordinator.registerHistoryConsumer("late")
    try open.insert("Tag", ["name": .text("4")])
    var request = PersistentHistoryChangeRequest.deleteHistory(before: nil)
    assertStoreError(.historyConsumerBehind) { try coordinator.execute(request) }
    request.forcesDeletion = true
    _ = try coordinator.execute(request)
    XCTAssertEqual(try transactions(open).count, 1)
  }

  func testDisablingHistoryDeletesItAndIsRejectedDuringReads() throws {
    let open = try makeTracked()
    try open.insert("Tag", ["name": .text("red")])
    let place = try token(open)
    let history = try XCTUnwrap(open.store as? any HistoryStore)
    try open.coordinator.registerHistoryConsumer("sync")
    assertStoreError(.historyConsumerBehind) { try history.setHistory(nil) }
    XCTAssertEqual(try transactions(open).count, 1)
    try open.coordinator.removeHistoryConsumer("sync")
    try history.setHistory(nil)
    assertStoreError(.historyNotTracked) { try transactions(open) }
    try open.insert("Tag", ["name": .text("blue")])
    try history.setHistory(HistorySettings(level: .values))
    XCTAssertEqual(try open.persistentStore.historyLevel, .values)
    try open.insert("Tag", ["name": .text("green")])
    XCTAssertEqual(try transactions(open).count, 1)
    let error = try? transactions(open, after: place)
    XCTAssertNil(error, "a position in a disabled history is not valid in the next")
    // A change of the level continues the same history.
    let present = try token(open)
    try history.setHistory(HistorySettings(level: .properties))
    try open.insert("Tag", ["name": .text("white")])
    XCTAssertEqual(try transactions(open, after: present).count, 1)
  }

  func testLargeTransactionsAreReadInBatches() throws {
    let open = try makeTracked()
    let place = try token(open)
    let context = open.newContext()
    try context.execute(
      BatchInsertRequest(entityName: "Tag", objects: (1...5_500).map { ["name": "tag \($0)"] }))
    try context.execute(BatchUpdateRequest(entityName: "Tag", propertiesToUpdate: ["name": try FetchExpression(format: "name")]))
    let coordinator = open.coordinator
    let parts = try waitFor {
      var parts: [PersistentHistoryTransaction] = []
      for try await transaction in coordinator.history(after: place) { parts.append(transaction) }
      return parts
    }
    XCTAssertEqual(parts.compactMap { $0.changes?.count }.reduce(0, +), 11_000)
    XCTAssertLessThanOrEqual(parts.compactMap { $0.changes?.count }.max() ?? 0, 1_000)
    XCTAssertEqual(Set(parts.map(\.transactionNumber)).count, 2)
    XCTAssertEqual(parts.filter { !$0.isContinued }.count, 2)
    var seen: Set<PersistentHistoryChange.ID> = []
    for change in parts.flatMap({ $0.changes ?? [] }) { XCTAssertTrue(seen.insert(change.id).inserted) }
    XCTAssertEqual(
      parts.flatMap { ($0.changes ?? []).map(\.id) },
      seen.sorted { ($0.transactionNumber, $0.index) < ($1.transactionNumber, $1.index) })
    let whole = try transactions(open, after: place)
    XCTAssertEqual(whole.map { $0.changes?.count }, [5_500, 5_500])
    let cancelled = try waitFor {
      let some = try FetchPredicate(format: "changeType == 'delete'")
      var count = 0
      for try await _ in coordinator.history(after: place, changes: some) { count += 1 }
      return count
    }
    XCTAssertEqual(cancelled, 0)
  }

  func testEachStoreReportsItsOwnHistory() throws {
    let one = try makeTracked()
    var description = storeUnderTest.storeDescription(in: try makeFolder())
    description.historyTracking = true
    let coordinator = one.coordinator
    let second = try waitFor { [description] in try await coordinator.addPersistentStore(with: description) }
    let before = try XCTUnwrap(coordinator.currentPersistentHistoryToken())
    XCTAssertEqual(Set(before.storeIdentifiers), [one.persistentStore.identifier, second.identifier])
    let context = one.newContext()
    let tag = try context.insert("Tag", ["name": "red"])
    try context.assign(tag, to: second)
    try context.insert("Tag", ["name": "blue"])
    try context.save()
    let found = try coordinator.execute(.fetchHistory(after: before)).transactions
    XCTAssertEqual(Set(found.map(\.storeIdentifier)), [one.persistentStore.identifier, second.identifier])
    XCTAssertEqual(found.map { $0.changes?.count }, [1, 1])
    var request = PersistentHistoryChangeRequest.fetchHistory(after: before)
    request.affectedStores = [second.identifier]
    XCTAssertEqual(try coordinator.execute(request).transactions.map(\.storeIdentifier), [second.identifier])
    let only = try XCTUnwrap(coordinator.currentPersistentHistoryToken(fromStores: [second]))
    XCTAssertEqual(only.storeIdentifiers, [second.identifier])
    XCTAssertEqual(before.merging(only).isOlder(than: only, inStore: second.identifier), false)
    try coordinator.remove(second)
  }
}
