import Foundation
import XCTest

/// Rules for every source file: its length, and what it must not contain.
final class SourceRuleTests: XCTestCase {
  private static let folders = ["Sources", "Tests", "Plugins", "Examples", "Benchmarks"]
  private static let maximumLines = 500

  /// The code that every property read, every fetched row and every change runs. It must not box values.
  private static let hotPaths = [
    "Sources/ObjectContext/Changes/ManagedObjectContext+Changes.swift",
    "Sources/ObjectContext/Objects/IdentityMap.swift",
    "Sources/ObjectContext/Objects/ObjectRegistry.swift",
    "Sources/ObjectContext/Objects/Overlay.swift",
    "Sources/ObjectContext/Objects/OrderedReferenceSet.swift",
    "Sources/ObjectContext/Objects/ToManyState.swift",
    "Sources/ObjectContext/Changes/UnitOfWork.swift",
    "Sources/ObjectContext/Faulting/",
    "Sources/ObjectContext/Objects/ManagedObject+Slots.swift",
    "Sources/ObjectContext/Objects/ManagedObject+TypedValues.swift",
    "Sources/ObjectContext/Objects/StoredAttributeValue.swift",
    "Sources/ObjectContext/Undo/ContextUndoManager+Recording.swift",
    "Sources/ObjectContext/Relationships/",
    "Sources/ObjectContext/Changes/DeletePropagation.swift",
    "Sources/ObjectContext/Saving/ManagedObjectContext+Save.swift",
    "Sources/ObjectContext/Saving/SaveRequestBuilder.swift",
    "Sources/ObjectContext/Saving/SaveSession",
    "Sources/ObjectModel/Compiled/",
    "Sources/ObjectModel/Identity/",
    "Sources/ObjectModel/Values/Slot.swift",
    "Sources/ObjectQuery/Evaluation/",
    "Sources/ObjectStore/Batch/BatchInsertQueue.swift",
    "Sources/ObjectStore/Batch/BatchResult.swift",
    "Sources/ObjectStore/Batch/PersistentStoreCoordinator+Batch.swift",
    "Sources/ObjectStore/Changes/",
    "Sources/ObjectStore/Coordinator/",
    "Sources/ObjectStore/Execution/",
    "Sources/ObjectStore/Generations/",
    "Sources/ObjectStore/History/HistoryStore.swift",
    "Sources/ObjectStore/History/RemoteStoreChange.swift",
    "Sources/ObjectStore/InMemory/",
    "Sources/ObjectStore/Requests/",
    "Sources/ObjectStore/RowCache/",
    "Sources/ObjectStore/Rows/",
    "Sources/ObjectStore/Stores/",
    "Sources/SQLCipherConnection/",
    "Sources/SQLCipherStore/",
    "Sources/StoreFiles/",
    "Sources/StoreKeys/",
  ]

  func testFilesHaveAtMostFiveHundredLines() throws {
    for file in Self.folders.flatMap(Repository.swiftFiles) {
      let count = try Repository.text(file).split(separator: "\n", omittingEmptySubsequences: false).count - 1
      XCTAssertLessThanOrEqual(count, Self.maximumLines, "\(file) has \(count) lines; split it by what it does")
    }
  }

  func testSourcesContainNoDeliberateTraps() {
    for (file, text) in Repository.sources {
      for word in ["try!", "fatalError", "assertionFailure"] {
        for line in text.lines(containing: word) { XCTFail("\(file):\(line + 1) contains \(word)") }
      }
    }
  }

  func testOnlyToolsPrint() {
    let tools = ["Sources/CipherDataTool", "Sources/CipherDataToolKit", "Sources/generate-managed-objects"]
    for (file, text) in Repository.sources where !tools.contains(where: file.hasPrefix) {
      for (index, line) in text.code.enumerated() where line.drop(while: \.isWhitespace).hasPrefix("print(") {
        XCTFail("\(file):\(index + 1) prints")
      }
    }
  }

  func testHotPathsDoNotUseAny() {
    for path in Self.hotPaths {
      let sources = Repository.sources.filter { $0.file.hasPrefix(path) }
      XCTAssertFalse(sources.isEmpty, "\(path) no longer exists; list its replacement")
      for (file, text) in sources {
        for line in text.lines(containing: "Any") { XCTFail("\(file):\(line + 1) contains Any") }
      }
    }
  }

  /// A skipped test proves nothing and goes unnoticed. Missing prerequisites of a machine are failures that state what to install.
  func testNoTestIsSkipped() throws {
    for file in ["Tests", "Examples", "Benchmarks"].flatMap(Repository.swiftFiles) {
      let text = SwiftText(try Repository.text(file))
      for word in ["XCTSkip", "XCTSkipIf", "XCTSkipUnless"] {
        for line in text.lines(containing: word) { XCTFail("\(file):\(line + 1) contains \(word)") }
      }
    }
  }

  // MARK: Unchecked constructs

  func testEveryUncheckedUseIsPinned() throws {
    try PinnedLists.uncheckedUses.check(hint: "If it must be, run Scripts/api-baseline and say why in the commit.")
  }

  func testUncheckedUsesHaveAReasonComment() {
    for use in UncheckedUse.all(in: Repository.sources) where use.reason == nil {
      XCTFail("\(use.file):\(use.line + 1) uses \(use.word) without a comment that says why, on the line or directly above it")
    }
  }

  /// Errors whose messages are made from a reason, each with the files that make them.
  private static let errorsWithReasons = [
    ("StoreError(", "Sources/ObjectStore/Rows/StoreError"), ("CoreDataImportError(", "Sources/CoreDataImport/Errors/CoreDataImportError"),
  ]

  /// An argument after the first one of an error's initializer must have a label. An unlabeled one is a message, which must be a `Reason`.
  func testMessagesOfErrorsWithReasonsAreBuiltInOnePlace() {
    var count = 0
    for (name, place) in Self.errorsWithReasons {
      for (file, text) in Repository.sources where file.hasPrefix("Sources/") && !file.hasPrefix(place) {
        for call in text.code.joined(separator: "\n").components(separatedBy: name).dropFirst() {
          count += 1
          guard let second = Self.secondArgument(of: call) else { continue }
          let label = second.prefix { $0.isLetter }
          guard label.isEmpty || second.dropFirst(label.count).first != ":" else { continue }
          XCTFail("\(file) contains an error message; add a Reason: \(second.prefix(80))")
        }
      }
    }
    XCTAssertGreaterThan(count, 200, "the test finds no errors: has their form changed?")
  }

  /// The causes of key, file and connection errors are closed enumerations with their messages. `sql` and `message` contain SQLite's own
  /// text.
  func testMessagesOfStoreAccessErrorsAreBuiltInOnePlace() {
    var count = 0
    for (file, text) in Repository.sources where file.hasPrefix("Sources/") && !file.hasPrefix("Sources/StoreKeys/Errors/StoreAccessError")
    {
      for call in text.code.joined(separator: "\n").components(separatedBy: "StoreAccessError(").dropFirst() {
        count += 1
        // A path component is not a message.
        let pieces = Self.arguments(of: call).components(separatedBy: "\"")
        for index in stride(from: 1, to: pieces.count, by: 2) where !pieces[index - 1].hasSuffix("path + ") {
          XCTFail("\(file) contains an error message; add a case to StoreAccessError+Causes.swift: \(pieces[index - 1].suffix(80))")
        }
      }
    }
    XCTAssertGreaterThan(count, 70, "the test finds no errors: has their form changed?")
  }

  func testMessagesInErrorInitializersAreFound() {
    XCTAssertEqual(Self.secondArgument(of: ".invalidRequest,\n  \"A sentence.\", operation: .save)"), "\"A sentence.\", operation: .save)")
    XCTAssertEqual(Self.secondArgument(of: ".noStages(from: a, to: [b, c]), operation: .save)"), "operation: .save)")
    XCTAssertNil(Self.secondArgument(of: ".noStages(from: a, to: b))\nlet x = f(1, 2)"))
    XCTAssertNil(Self.secondArgument(of: "error), text"))
    XCTAssertEqual(Self.arguments(of: ".sql(\"a b\"), path: path) + \"c d\""), ".sql(\"a b\"), path: path")
  }

  /// The arguments of a call, whose text begins with its first argument.
  private static func arguments(of call: String) -> Substring {
    var depth = 0
    let end = call.firstIndex { character in
      depth += character == "(" ? 1 : character == ")" ? -1 : 0
      return depth < 0
    }
    return call[..<(end ?? call.endIndex)]
  }

  /// The text from the second argument of a call, whose text begins with its first argument; nil if there is only one.
  private static func secondArgument(of call: String) -> Substring? {
    var depth = 0
    for index in call.indices {
      switch call[index] {
      case "(", "[", "{": depth += 1
      case ")", "]", "}":
        depth -= 1
        if depth < 0 { return nil }
      case "," where depth == 0: return call[call.index(after: index)...].drop(while: \.isWhitespace)
      default: break
      }
    }
    return nil
  }

  func testReasonsAreCommentsOnTheLineOrDirectlyAboveIt() {
    let text = SwiftText(
      """
      // Of another line.

      let a = Unmanaged<A>.self
      let b = Unmanaged<B>.self  // It is b.
      // It is c,
      // all of it.
      @frozen
      public let c = Unmanaged<C>.self

      /// Documentation is no reason.
      let d = Unmanaged<D>.self
      // They are e and f.
      /// The first.
      @exclusivity(unchecked) var e = 1
      private let other: Int
      /// The second.
      @exclusivity(unchecked) var f = "//"
      let g = unsafeBitCast(precondition(x), to: unowned(unsafe) B.self)  // It is g.
      case unsafe
      throw .unsafe
      /// A box.
      ///
      /// `@unchecked Sendable`: it is
      /// constant.
      private final class H: @unchecked Sendable {}
      """)
    let uses = UncheckedUse.all(in: [("F", text)])
    XCTAssertEqual(
      uses.map { "\($0.line) \($0.word): \($0.reason ?? "none")" },
      [
        "2 Unmanaged: none", "3 Unmanaged: It is b.", "7 Unmanaged: It is c, all of it.", "10 Unmanaged: none",
        "13 @exclusivity(unchecked): They are e and f.", "16 @exclusivity(unchecked): They are e and f.", "17 precondition: It is g.",
        "17 unsafe: It is g.", "17 unsafeBitCast: It is g.", "24 @unchecked Sendable: it is constant.",
      ])
  }
}
