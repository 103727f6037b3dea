import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import Synchronization
import XCTest

/// The values of objects that observers of transactions receive.
final class RowValuesTests: XCTestCase {
  func testUnknownNamesAreErrors() async throws {
    try await onEachStore { stack in
      let reader = TitleReader()
      try stack.coordinator.addTransactionObserver(reader, options: TransactionObserverOptions(includesNewValues: true))
      let context = stack.makeContext()
      try context.make("Tag", ["name": "a"])
      try context.save()
      XCTAssertEqual(reader.texts.withLock { $0 }, ["a", "The entity “Tag” has no property “nmae”; did you mean “name”?"])
      stack.coordinator.removeTransactionObserver(reader)
    }
  }
}

private final class TitleReader: TransactionObserver {
  let texts = Mutex<[String]>([])

  func didChange(_ change: RowChange, in transaction: ObservedTransaction) {
    guard case .insert(let row) = change, let values = row.newValues else { return }
    for name in ["name", "nmae"] {
      let text: String
      do { text = try values.value(name, as: String.self) ?? "null" } catch { text = (error as? StoreError)?.message ?? "\(error)" }
      texts.withLock { $0.append(text) }
    }
  }

  func willCommit(_ transaction: ObservedTransaction) throws {}
  func didUndoChanges(in transaction: ObservedTransaction, keeping count: Int) {}
  func didCommit(_ transaction: ObservedTransaction) {}
  func didRollback(_ transaction: ObservedTransaction) {}
}
