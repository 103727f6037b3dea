import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SyncCore
import XCTest
import _StoreSpecification
import _SyncSimulation
import _TestSupport

@testable import SyncEngine

/// Cases that are easy to get wrong, with real stores. Those that are not here have tests elsewhere, which have the number of the case in
/// their names; `SyncCoreTests` has the same cases with simulated stores.
final class HardCaseTests: XCTestCase {
  /// Two stores with a folder and notes, whose titles are numbers.
  private func stores(noteCount: Int = 1, model: CompiledModel = MirrorModel.model) throws -> (one: SyncedStore, other: SyncedStore) {
    let scenario = Scenario(deviceCount: 0)
    let (one, other) = (try SyncedStore(scenario, 1, model: model), try SyncedStore(scenario, 2, model: model))
    let root = try one.context.insert("Folder", ["title": "root"])
    for number in 0..<noteCount { try one.context.insert("Note", ["title": "\(number)", "folder": root]) }
    try one.context.save()
    for store in [one, other] { try store.synchronize() }
    return (one, other)
  }

  private func folder(_ store: SyncedStore) throws -> ManagedObject {
    try XCTUnwrap(try store.context.all("Folder").first { $0.text("title") != "new" })
  }

  private func setTitle(_ title: String, in store: SyncedStore) throws {
    store.context.reset()
    try folder(store).setValue(title, forKey: "title")
    try store.context.save()
  }

  /// A commit that the hub has accepted, and whose answer is lost, is sent again after others have changed the same object.
  func testCase2ARepeatedCommitGetsItsFirstAnswerAndRevertsNothing() throws {
    let (one, other) = try stores()
    try setTitle("first", in: one)
    for action in try one.handle(.save) { _ = try one.answer(action) }
    try other.synchronize()
    try setTitle("later", in: other)
    try other.synchronize()
    let count = one.scenario.commitCount
    try one.reopenReplica()
    let repeated = try one.handle(.save).compactMap { action -> SyncClient.Event? in
      if case .push = action { try one.answer(action) } else { nil }
    }
    XCTAssertEqual(repeated.count, 1)
    guard case .pushed(_, .accepted)? = repeated.first else { return XCTFail("\(repeated)") }
    _ = try one.handle(repeated[0])
    one.restart()
    try synchronize([one, other])
    XCTAssertEqual(one.scenario.commitCount, count)
    XCTAssertEqual(try one.contents().values.first { $0["entity"] == "Folder" }?["title"], "later")
  }

  /// The clock of a device was in 2040 while it synchronized, and is right again.
  func testCase3AWallClockOf2040DoesNotWinForEver() throws {
    let (one, other) = try stores()
    one.clockError = 14 * 365 * 86_400_000
    try setTitle("from 2040", in: one)
    try one.synchronize()
    one.clockError = 0
    try one.reopenReplica()
    try one.synchronize()
    XCTAssertTrue(try one.isIdle)
    try other.synchronize()
    XCTAssertEqual(try other.contents().values.first { $0["entity"] == "Folder" }?["title"], "from 2040")
    for (number, store) in [other, one, other].enumerated() {
      try setTitle("later \(number)", in: store)
      try synchronize([one, other])
      for store in [one, other] {
        XCTAssertEqual(try store.contents().values.first { $0["entity"] == "Folder" }?["title"], "later \(number)")
      }
    }
  }

  /// An edit of a property is pending when a version of the model renames or drops it.
  func testCase8APropertyThatIsRenamedOrDroppedWhileEditsArePending() throws {
    func model(_ attribute: Attribute?) throws -> CompiledModel {
      try CompiledModel(
        ManagedObjectModel {
          Entity("Folder") {
            Attribute("title", .string)
            if let attribute { attribute }
            Relationship("notes", toMany: "Note", inverse: "folder").onDelete(.cascade)
          }
          Entity("Note") {
            Attribute("title", .string)
            Relationship("folder", to: "Folder", inverse: "notes").required()
          }
        })
    }
    let former = try model(Attribute("text", .string))
    for isFrozen in [false, true] {
      for (attribute, name) in [(nil, nil), (Attribute("body", .string).renamed(from: "text"), "body")] as [(Attribute?, String?)] {
        let (one, other) = try stores(model: former)
        try folder(other).setValue("pending", forKey: "text")
        try other.context.save()
        try other.context.insert("Folder", ["title": "new", "text": "of the new one"])
        try other.context.save()
        if isFrozen { _ = try other.handle(.save) }
        try other.close()
        try other.reopen(model(attribute))
        if let name { XCTAssertEqual(try folder(other).text(name), "pending") }
        // An older device reads it under its own name, and can change it.
        for store in [other, one] { try store.synchronize() }
        let texts = try one.contents().values.filter { $0["entity"] == "Folder" }.compactMap { $0["text"] }.sorted()
        XCTAssertEqual(texts, ["of the new one", "pending"])
        one.context.reset()
        try folder(one).setValue("changed", forKey: "text")
        try one.context.save()
        for store in [one, other] { try store.synchronize() }
        other.context.reset()
        if let name { XCTAssertEqual(try folder(other).text(name), "changed") }
        for store in [one, other] { XCTAssertTrue(try store.isIdle) }
      }
    }
  }

  /// - Parameter isLater: Whether folders have an attribute more, without which a model has the same version.
  private func model(folding: String, isLater: Bool = false) throws -> CompiledModel {
    try CompiledModel(
      ManagedObjectModel {
        Entity("Folder") {
          Attribute("title", .string)
          if isLater { Attribute("color", .string) }
          Attribute("folded", .string).derived(folding)
          Relationship("notes", toMany: "Note", inverse: "folder").onDelete(.cascade)
        }
        Entity("Note") {
          Attribute("title", .string)
          Relationship("folder", to: "Folder", inverse: "notes").required()
        }
      })
  }

  func testCase9ARefillOfDerivedValuesExportsNothing() throws {
    let (one, other) = try stores(noteCount: 5, model: model(folding: "uppercase:(title)"))
    let count = one.scenario.commitCount
    try other.close()
    try other.reopen(model(folding: "lowercase:(title)"))
    XCTAssertEqual(try folder(other).text("folded"), "root")
    XCTAssertTrue(try other.replica.pendingReport(maximumCount: 10).isEmpty)
    try other.synchronize()
    XCTAssertEqual(one.scenario.commitCount, count)
  }

  func testCase9ACustomMigrationExportsExactlyTheRowsThatDiffer() throws {
    let former = try model(folding: "uppercase:(title)")
    let later = try model(folding: "uppercase:(title)", isLater: true)
    let (one, other) = try stores(noteCount: 6, model: former)
    try other.close()
    var stage = CustomMigrationStage(
      migratingFrom: ManagedObjectModelReference(former.model), to: ManagedObjectModelReference(later.model))
    stage.didMigrateHandler = { context in
      for note in try context.all("Note") where ["2", "4"].contains(note.text("title")) {
        try note.setValue("migrated \(note.text("title") ?? "")", forKey: "title")
      }
      try context.save()
    }
    try other.reopen(later, stages: [stage])
    let report = try other.replica.pendingReport(maximumCount: 10)
    XCTAssertEqual(report.saves.flatMap(\.changes).count + report.objectCount, 2)
    var sent = 0
    var actions = try other.handle(.remoteChange)
    while let action = actions.first {
      actions.removeFirst()
      if case .push(let commit) = action { sent += commit.records.count }
      actions += try other.handle(other.answer(action))
    }
    XCTAssertEqual(sent, 2)
    try one.synchronize()
    let titles = try one.contents().values.filter { $0["entity"] == "Note" }.compactMap { $0["title"] }.sorted()
    XCTAssertEqual(titles, ["0", "1", "3", "5", "migrated 2", "migrated 4"])
  }

  /// A parent is deleted on one device while another one adds a child that requires it.
  func testCase12NoDeviceShowsAChildWithoutItsParent() throws {
    for isDeletionFirst in [true, false] {
      for reopens in [true, false] {
        let (one, other) = try stores()
        one.context.delete(try folder(one))
        try one.context.save()
        try other.context.insert("Note", ["title": "late", "folder": folder(other)])
        try other.context.save()
        let order = isDeletionFirst ? [one, other] : [other, one]
        for store in order + order {
          try store.synchronize {
            let contents = try store.contents().values
            let ids = Set(try store.contents().keys)
            for note in contents where note["entity"] == "Note" { XCTAssertTrue(ids.contains(note["folder"] ?? ""), "\(note)") }
          }
          if reopens {
            try store.close()
            try store.reopen()
          }
        }
        try synchronize([one, other])
        XCTAssertEqual(try one.contents(), [:])
      }
    }
  }
}
