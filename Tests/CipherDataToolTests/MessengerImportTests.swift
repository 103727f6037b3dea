import CipherDataToolKit
import ObjectContext
import ObjectQuery
import XCTest

/// Graphs with keys that consist of relationships, ordered relationships of keyed objects, subentities and cycles.
final class MessengerImportTests: XCTestCase {
  private static let accounts = ["00000000-0000-0000-0000-00000000000A", "00000000-0000-0000-0000-00000000000B"]
  private static let chat = "00000000-0000-0000-0000-0000000000C0"
  private static func message(_ number: Int) -> String { "00000000-0000-0000-0000-0000000000D\(number)" }

  private static var lines: String {
    let participant = { (account: Int) in
      #"{"account":{"identifier":"\#(accounts[account])"},"chat":{"identifier":"\#(chat)"}}"#
    }
    var lines = [
      #"{"$entity":"Account","identifier":"\#(accounts[0])","displayName":"Ada","createdAt":"2024-01-01T00:00:00Z","balance":"12.50"}"#,
      #"{"$entity":"Account","identifier":"\#(accounts[1])","displayName":"Bo","createdAt":"2024-01-02T00:00:00Z","settings":"eyJhIjoiYiJ9"}"#,
      #"{"$entity":"Chat","identifier":"\#(chat)","title":"Two","participants":[{"account":{"identifier":"\#(accounts[0])"},"role":"owner"},"#
        + #"{"account":{"identifier":"\#(accounts[1])"}}]}"#,
    ]
    for number in [1, 2, 3] {
      lines.append(
        #"{"$entity":"TextMessage","identifier":"\#(message(number))","sentAt":"2024-02-0\#(number)T00:00:00Z","text":"message \#(number)","#
          + #""chat":{"identifier":"\#(chat)"},"sender":\#(participant(number % 2))"#
          + (number > 1 ? #","replyTo":{"identifier":"\#(message(number - 1))"}"# : "") + "}")
    }
    lines.append(
      #"{"$entity":"Chat","identifier":"\#(chat)","pinnedMessage":{"$entity":"TextMessage","identifier":"\#(message(2))"},"messages":["#
        + [3, 1, 2].map { #"{"$entity":"TextMessage","identifier":"\#(message($0))"}"# }.joined(separator: ",") + "]}")
    return lines.joined(separator: "\n")
  }

  func testObjectsAreFoundByKeysMadeOfRelationships() async throws {
    for batchSize in [1, 2, 100] {
      let context = try await TestStack.context("Messenger")
      let outcome = try TestStack.importLines(Self.lines, into: context, batchSize: batchSize)
      XCTAssertEqual(outcome.summary.inserted, 2 + 1 + 2 + 3)
      XCTAssertEqual(try context.count(for: FetchRequest<ManagedObject>(entityName: "Participant")), 2)
      let owner = try context.fetch(FetchRequest<ManagedObject>(entityName: "Participant", predicate: .compare("role", .equal, "owner")))
      XCTAssertEqual(
        try owner.map { try $0.value(forKey: "account") as? ManagedObject }.map { try $0?.value(forKey: "displayName") as? String }, ["Ada"]
      )
      let again = try TestStack.importLines(Self.lines, into: context, batchSize: batchSize).summary
      XCTAssertEqual([again.inserted, again.updated, again.deleted], [0, 0, 0])
    }
  }

  func testImportOfAnExportRestoresTheGraph() async throws {
    let context = try await TestStack.context("Messenger")
    try TestStack.importLines(Self.lines, into: context)
    let exported = try TestStack.export(context)
    for batchSize in [1, 100] {
      let copy = try await TestStack.context("Messenger")
      try TestStack.importLines(exported, into: copy, batchSize: batchSize)
      XCTAssertEqual(try TestStack.export(copy), exported)
      let chat = try XCTUnwrap(copy.fetch(FetchRequest<ManagedObject>(entityName: "Chat")).first)
      let messages = try XCTUnwrap(chat.value(forKey: "messages") as? [ManagedObject])
      XCTAssertEqual(try messages.map { try $0.value(forKey: "text") as? String }, ["message 3", "message 1", "message 2"])
      let pinned = try XCTUnwrap(chat.value(forKey: "pinnedMessage") as? ManagedObject)
      XCTAssertEqual(try pinned.value(forKey: "text") as? String, "message 2")
      let unchanged = try TestStack.importLines(exported, into: copy).summary
      XCTAssertEqual([unchanged.inserted, unchanged.updated, unchanged.deleted], [0, 0, 0])
    }
  }

  func testAnAbstractEntityCanBeFoundButNotInserted() async throws {
    let context = try await TestStack.context("Messenger")
    XCTAssertThrowsError(try TestStack.importLines(#"{"identifier":"\#(Self.chat)"}"#, into: context, entity: "Message")) { error in
      XCTAssertEqual((error as? InputError)?.key, "$entity")
    }
  }
}
