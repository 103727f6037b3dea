import CipherDataToolKit
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import StoreKeys
import XCTest

/// Derived attributes of a store that two processes have open: the built tool and the tests.
final class DerivedAttributeCommandTests: XCTestCase {
  private static func model(filter: String = "isRead == NO") -> ManagedObjectModel {
    ManagedObjectModel {
      Entity("Thread") {
        Attribute("title", .string).required()
        Attribute("count", .integer64).derived("messages.@count")
        Attribute("unread", .integer64).derived("messages.@count", where: filter)
        Attribute("load", .integer64).derived("messages.@sum.weight", where: "isRead == NO AND textKey BEGINSWITH 'm'")
        Relationship("messages", toMany: "Message", inverse: "thread").onDelete(.cascade)
        Unique("title")
      }
      Entity("Message") {
        Attribute("text", .string)
        Attribute("textKey", .string).derived("canonical:(text)")
        Attribute("isRead", .boolean)
        Attribute("weight", .integer64)
        Attribute("threadTitle", .string).derived("thread.title")
        Relationship("thread", to: "Thread", inverse: "messages")
      }
    }
  }

  private func fixture() async throws -> ToolFixture {
    let fixture = try ToolFixture()
    try await fixture.makeStore(of: Self.model())
    return fixture
  }

  private func open(_ fixture: ToolFixture, _ model: ManagedObjectModel = model()) async throws -> PersistentStoreCoordinator {
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
    try await coordinator.addPersistentStore(
      with: PersistentStoreDescription(url: URL(fileURLWithPath: fixture.store), key: .passphrase(ToolFixture.passphrase)))
    return coordinator
  }

  private func lines(_ thread: String, _ numbers: Range<Int>) -> String {
    numbers.map {
      #"{"$entity":"Message","text":"Mail \#($0)","isRead":\#($0 % 2 == 0),"weight":\#($0),"thread":{"title":"\#(thread)"}}"# + "\n"
    }.joined()
  }

  @discardableResult
  private func run(_ fixture: ToolFixture, _ arguments: [String], input: String? = nil, line: UInt = #line) throws -> String {
    let result = try fixture.run(arguments, input: input)
    XCTAssertEqual(result.status, 0, result.error, line: line)
    return result.output
  }

  /// Returns the threads as the tool reads them.
  private func shown(_ fixture: ToolFixture) throws -> String {
    try run(
      fixture,
      ["fetch", "test.store", "--entity", "Thread", "--properties", "title,count,unread,load", "--sort", "title", "--format", "csv"]
    ).replacingOccurrences(of: "\r\n", with: " ")
  }

  /// Returns the counts as a new context reads them, after comparing them with the messages.
  private func compare(_ coordinator: PersistentStoreCoordinator, line: UInt = #line) throws -> [String: Int64] {
    let context = ManagedObjectContext(coordinator: coordinator)
    // Fetched, not faulted: this process's cache does not contain the other process's changes.
    let messages = try context.fetch(FetchRequest<ManagedObject>(entityName: "Message"))
    var counts: [String: Int64] = [:]
    for thread in try context.fetch(FetchRequest<ManagedObject>(entityName: "Thread")) {
      let messages = messages.filter { $0["thread"] as? ManagedObject === thread }
      let unread = messages.filter { $0["isRead"] as? Bool == false }
      let load = unread.filter { ($0["text"] as? String)?.lowercased().hasPrefix("m") ?? false }.compactMap { $0["weight"] as? Int64 }
      XCTAssertEqual(thread["count"] as? Int64, Int64(messages.count), line: line)
      XCTAssertEqual(thread["unread"] as? Int64, Int64(unread.count), line: line)
      XCTAssertEqual(thread["load"] as? Int64, load.reduce(0, +), line: line)
      XCTAssertEqual(Set(messages.map { $0["threadTitle"] as? String }).subtracting([thread["title"] as? String]), [], line: line)
      counts[try XCTUnwrap(thread["title"] as? String)] = Int64(messages.count)
    }
    return counts
  }

  func testWritesOfAnotherProcessAreDerived() async throws {
    let fixture = try await fixture()
    let coordinator = try await open(fixture)
    try run(fixture, ["import", "test.store", "--format", "jsonl", "-"], input: lines("A", 0..<10) + lines("B", 0..<3))
    XCTAssertEqual(try shown(fixture), "title,count,unread,load A,10,5,25 B,3,1,1 ")
    XCTAssertEqual(try compare(coordinator), ["A": 10, "B": 3])
    try run(fixture, ["update", "test.store", "--entity", "Message", "--where", "weight < 4", "--set", "isRead = NO"])
    XCTAssertEqual(try shown(fixture), "title,count,unread,load A,10,7,27 B,3,3,3 ")
    XCTAssertEqual(try compare(coordinator), ["A": 10, "B": 3])
    // The reverse: the tool reads this process's changes.
    let context = ManagedObjectContext(coordinator: coordinator)
    let threads = try context.fetch(FetchRequest<ManagedObject>(entityName: "Thread", sortDescriptors: [FetchSortDescriptor("title")]))
    for message in try XCTUnwrap(threads[0]["messages"] as? Set<ManagedObject>) where message["weight"] as? Int64 ?? 0 > 4 {
      try message.setValue(threads[1], forKey: "thread")
    }
    try context.save()
    XCTAssertEqual(try shown(fixture), "title,count,unread,load A,5,4,6 B,8,6,24 ")
    try run(fixture, ["delete", "test.store", "--entity", "Message", "--where", "weight == 2"])
    try run(fixture, ["delete", "test.store", "--entity", "Thread", "--where", "title == 'B'"])
    XCTAssertEqual(try shown(fixture), "title,count,unread,load A,4,3,4 ")
    XCTAssertEqual(try compare(coordinator), ["A": 4])
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  func testTwoProcessesThatWriteAtOnceLoseNoMember() async throws {
    let fixture = try await fixture()
    try run(fixture, ["import", "test.store", "--format", "jsonl", "-"], input: lines("A", 0..<1))
    let coordinator = try await open(fixture)
    _ = try fixture.folder.file("lines.jsonl", lines("A", 1..<400))
    let other = Process()
    other.executableURL = try ToolFixture.executable
    other.currentDirectoryURL = fixture.folder.url
    other.arguments = [
      "import", "test.store", "--format", "jsonl", "lines.jsonl", "--passphrase-file", "passphrase",
    ]
    other.standardOutput = FileHandle.nullDevice
    try other.run()
    let context = ManagedObjectContext(coordinator: coordinator)
    for number in 0..<60 {
      let thread = try XCTUnwrap(try context.fetch(FetchRequest<ManagedObject>(entityName: "Thread")).first)
      let message = try context.insertObject(entityName: "Message")
      for (key, value) in ["text": "mine", "isRead": number % 3 == 0, "weight": Int64(number), "thread": thread] as [String: Any] {
        try message.setValue(value, forKey: key)
      }
      try context.save()
      try await Task.sleep(for: .milliseconds(5))
    }
    other.waitUntilExit()
    XCTAssertEqual(other.terminationStatus, 0)
    XCTAssertEqual(try compare(coordinator), ["A": 460])
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  func testProcessesWithAnotherFilterAreAdvisedToReopenTheStore() async throws {
    let fixture = try await fixture()
    try run(fixture, ["import", "test.store", "--format", "jsonl", "-"], input: lines("A", 0..<6))
    let older = try await open(fixture)
    let newer = try await open(fixture, Self.model(filter: "isRead == YES"))
    XCTAssertEqual(try shown(fixture).split(separator: " ").last, "A,6,3,9")
    let context = ManagedObjectContext(coordinator: older)
    let message = try XCTUnwrap(try context.fetch(FetchRequest<ManagedObject>(entityName: "Message")).first)
    try message.setValue(nil, forKey: "isRead")
    XCTAssertThrowsError(try context.save()) { XCTAssertTrue("\($0)".contains("open it again"), "\($0)") }
    // The tool uses the model in the store.
    try run(fixture, ["update", "test.store", "--entity", "Message", "--where", "weight == 5", "--set", "isRead = YES"])
    XCTAssertEqual(try shown(fixture).split(separator: " ").last, "A,6,4,4")
    for coordinator in [older, newer] { for store in coordinator.persistentStores { try coordinator.remove(store) } }
  }
}
