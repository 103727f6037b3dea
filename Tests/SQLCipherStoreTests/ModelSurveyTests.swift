import Foundation
import ObjectModel
import XCTest
import _TestSupport

/// Migrates stores with rows through the versions of model bundles: a generated one, and those in the folder that Scripts/test-migrations
/// sets.
final class ModelSurveyTests: XCTestCase {
  func testVersionsOfABundleMigrateInOrder() throws {
    let folder = try TemporaryFolder("ModelSurveyTests")
    defer { folder.remove() }
    try write(
      [
        """
        <entity name="User"><attribute name="name" optional="YES" attributeType="String"/><attribute name="score" attributeType="Integer 64" defaultValueString="0"/>
        <attribute name="tags" optional="YES" attributeType="Transformable"/>
        <relationship name="memberships" optional="YES" toMany="YES" deletionRule="Cascade" destinationEntity="Member" inverseName="user" inverseEntity="Member"/></entity>
        <entity name="Member"><relationship name="user" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="User" inverseName="memberships" inverseEntity="User"/></entity>
        """,
        """
        <entity name="User"><attribute name="name" optional="YES" attributeType="String"/><attribute name="score" attributeType="Double" defaultValueString="0"/>
        <attribute name="tags" optional="YES" attributeType="Transformable" valueTransformerName="NSSecureUnarchiveFromData"/>
        <relationship name="members" optional="YES" toMany="YES" deletionRule="Cascade" destinationEntity="Member" inverseName="user" inverseEntity="Member"/></entity>
        <entity name="Member"><relationship name="user" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="User" inverseName="members" inverseEntity="User"/></entity>
        """,
        """
        <entity name="User"><attribute name="name" optional="YES" attributeType="String"/><attribute name="score" attributeType="Double" defaultValueString="1"/>
        <attribute name="tags" optional="YES" attributeType="Transformable"/>
        <relationship name="members" optional="YES" toMany="YES" deletionRule="Cascade" destinationEntity="Member" inverseName="user" inverseEntity="Member"/></entity>
        <entity name="Member"><relationship name="user" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="User" inverseName="members" inverseEntity="User"/></entity>
        """,
        """
        <entity name="User"><attribute name="name" optional="YES" attributeType="Integer 64"/>
        <relationship name="member" optional="YES" maxCount="1" deletionRule="Cascade" destinationEntity="Member" inverseName="user" inverseEntity="Member"/></entity>
        <entity name="Member"><relationship name="user" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="User" inverseName="member" inverseEntity="User"/></entity>
        """,
        """
        <entity name="User"><attribute name="name" optional="YES" attributeType="Integer 64"/></entity>
        """,
        "<entity",
      ], to: folder)
    let bundles = ModelSurvey.bundles(in: folder.url)
    XCTAssertEqual(bundles.count, 1)
    let outcomes = try bundles.flatMap(ModelSurvey.pairs(of:)).map(\.outcome)
    XCTAssertEqual(Array(outcomes.prefix(2)), [.migrated, .same])
    guard case .refused(let reasons) = outcomes[2] else { return XCTFail("\(outcomes[2])") }
    XCTAssertEqual(reasons.count, 1)
    XCTAssertTrue(reasons[0].hasPrefix("User.name: type changed from String to Integer 64. It cannot be inferred"), reasons[0])
    XCTAssertEqual(outcomes[3], .migrated)
    guard case .unreadable = outcomes[4] else { return XCTFail("\(outcomes[4])") }
  }

  private func write(_ versions: [String], to folder: TemporaryFolder) throws {
    for (index, entities) in versions.enumerated() {
      let version = folder.url.appendingPathComponent("Model.xcdatamodeld/Model \(index + 1).xcdatamodel")
      try FileManager.default.createDirectory(at: version, withIntermediateDirectories: true)
      let text = """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">\(entities)</model>
        """
      try Data(text.utf8).write(to: version.appendingPathComponent("contents"))
    }
  }

  /// Migrates every pair of versions in the bundles of `CIPHERDATA_MODELS`, or in this test's own bundles if it is not set. Each pair is
  /// migrated with its rows or rejected with a reason.
  func testPublishedVersionPairsLoseNoRows() throws {
    let path = ProcessInfo.processInfo.environment["CIPHERDATA_MODELS"]
    let folder =
      path.map { URL(fileURLWithPath: $0) } ?? URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    var counts: [String: Int] = [:]
    for bundle in ModelSurvey.bundles(in: folder) {
      for pair in try ModelSurvey.pairs(of: bundle) {
        let (word, reasons): (String, [String]) =
          switch pair.outcome {
          case .same: ("same", [])
          case .migrated: ("migrated", [])
          case .refused(let reasons): ("refused", reasons)
          case .rejectedByRows(let reason): ("refused by rows", [reason])
          case .unreadable(let reason): ("unreadable", [reason])
          case .wrong(let reasons): ("wrong", reasons)
          }
        counts[word, default: 0] += 1
        if path != nil, !reasons.isEmpty {
          print("| \(pair.bundle) | \(pair.older) | \(pair.newer) | \(word) | \(reasons.joined(separator: "<br>")) |")
        }
        XCTAssertNotEqual(word, "wrong", "\(bundle.path), \(pair.older) to \(pair.newer): \(reasons)")
      }
    }
    if path != nil { print("| pairs: " + counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ") + " |") }
    XCTAssertFalse(counts.isEmpty, "There are no bundles of several versions in \(folder.path).")
  }
}
