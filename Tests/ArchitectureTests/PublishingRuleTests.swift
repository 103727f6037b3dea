import Foundation
import XCTest

/// Every component that makes a store write publishes the change, and no other component makes a store write.
final class PublishingRuleTests: XCTestCase {
  /// The files that make stores write, with the call by which each publishes the change.
  private static let writers: [String: String] = [
    "Sources/ObjectStore/Execution/PersistentStoreCoordinator+Requests.swift": "publish",
    "Sources/ObjectStore/Changes/PersistentStore+Publishing.swift": "notify",
    "Sources/ObjectStore/Batch/PersistentStoreCoordinator+Batch.swift": "finishBatch",
    "Sources/ObjectStore/Batch/BatchInsertQueue.swift": "finishBatch",
  ]
  /// Files that fill a store before a coordinator has it, and the file through which the others write.
  private static let exempt: Set<String> = [
    "Sources/ObjectStore/Changes/PersistentStore+Observation.swift",
    "Sources/ObjectStore/Files/StoreCopier.swift", "Sources/ObjectStore/Files/PersistentStoreCoordinator+Files.swift",
  ]
  private static let calls = [
    "incrementalStore.execute(", "incrementalStore.performTransaction(", "executeObserved(", "observingTransaction(",
  ]

  func testStoreWritesOccurOnlyInFilesThatPublishThem() {
    for (file, text) in Repository.sources where !Self.exempt.contains(file) && Self.writers[file] == nil {
      for (number, line) in text.code.enumerated() where Self.calls.contains(where: line.contains) {
        XCTFail("\(file):\(number + 1) writes to a store without publishing the changes")
      }
    }
  }

  func testFilesThatWriteToStoresPublishTheChanges() throws {
    for (file, word) in Self.writers {
      let text = try XCTUnwrap(Repository.sources.first { $0.file == file }?.text, "\(file) has moved")
      XCTAssertTrue(text.code.contains { line in Self.calls.contains(where: line.contains) }, "\(file) no longer writes to a store")
      XCTAssertFalse(text.lines(containing: word).isEmpty, "\(file) does not publish what it writes")
    }
  }
}
