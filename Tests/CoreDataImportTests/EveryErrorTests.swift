import CipherDataDocuments
import CoreDataImport
import Foundation
import ObjectContext
import ObjectModel
@_spi(Generated) import ObjectQuery
import ObjectStore
import SyncEngine
import XCTest

/// The messages of every public error. The errors are found in the lists of the public API, so that a new one without a message fails here.
final class EveryErrorTests: XCTestCase {
  private static let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// A kind of an error: its name and its message.
  private struct Kind {
    let name: String
    let advice: ErrorAdvice
  }

  private static func kinds<Code>(_ codes: [Code], _ advice: (Code) -> ErrorAdvice) -> [Kind] {
    codes.map { code in
      // A mirror names a case with associated values. The one without, whose type has a description of its own, is this one.
      var name = Mirror(reflecting: code).children.first?.label ?? "\(code)"
      if let error = code as? FetchPredicateError, error == .havingWithoutGroups { name = "havingWithoutGroups" }
      return Kind(name: name, advice: advice(code))
    }
  }

  /// One error of each kind with associated values, which cannot be enumerated.
  private static let predicateErrors: [FetchPredicateError] = [
    .unknownEntity(name: "Bok"), .unknownKey(key: "titel", keyPath: "titel", entity: "Book", suggestion: "title"),
    .keyBehindAttribute(key: "x", keyPath: "title.x", attribute: "title"),
    .toManyKeyNotAllowed(key: "books", keyPath: "books", entity: "Author"), .modifierNeedsToManyKey(modifier: "ANY", expression: "title"),
    .transientKey(keyPath: "note", entity: "Book"), .blockPredicate(name: "long"), .inMemoryValue(type: "Person"),
    .typeMismatch(expression: "pages", type: "integer", other: "a string"),
    .operatorNotSupported(op: "LIKE", expression: "pages", type: "integer"),
    .invalidRightSide(op: "IN", expression: "pages", expected: "a list"), .unsubstitutedVariable(name: "x"),
    .unknownTemplate(name: "long", suggestion: nil), .nestingTooDeep(limit: 200), .invalidPattern(expression: "title"),
    .notGrouped(keyPath: "title", clause: .propertiesToFetch), .havingWithoutGroups, .orderedByAnother(name: "title"),
    .negativeNumber(clause: .fetchLimit),
    .unsupported(part: "This", advice: "Do that."),
  ]
  private static let resultsErrors: [ResultsError] = [
    .noSortDescriptors(entity: "Book"), .dictionaryResults(entity: "Book"), .pendingChangesExcluded(entity: "Book"),
    .sectionWithoutName(section: "author", entity: "Book"), .sectionsOutOfOrder(section: "title", entity: "Book"),
  ]
  private static let mergeErrors: [ModelMergeError] = [
    .differentEntities(["Book"]), .differentTemplates(["long"]), .differentComposites(["Address"]),
  ]
  private static let transformErrors: [AttributeTransformError] = [
    .unknownTransformer("Reversed"), .wrongType("Int"), .failed("SomeError"),
  ]

  private static let tables: [(type: String, kinds: [Kind])] = [
    ("StoreError", kinds(StoreError.Code.allCases, \.advice)),
    ("ValidationError", kinds(ValidationError.Code.allCases, \.advice)),
    ("KeyValueError", kinds(KeyValueError.Code.allCases, \.advice)),
    ("FetchPredicateError", kinds(predicateErrors, \.advice)),
    ("PredicateFormatError", [Kind(name: "", advice: predicateFormatError.advice)]),
    ("TextQueryError", [Kind(name: "", advice: textQueryError.advice)]),
    ("FetchSelectionError", [Kind(name: "", advice: selectionError.advice)]),
    ("BatchError", kinds(BatchError.Code.allCases, \.advice)),
    ("ResultsError", kinds(resultsErrors, \.advice)),
    ("MergePolicyError", [Kind(name: "", advice: MergePolicyError(issues: issues).advice)]),
    ("DocumentError", kinds(DocumentError.Code.allCases, \.advice)),
    ("ModelFileError", kinds(ModelFileError.Code.allCases, \.advice)),
    ("ModelValidationError", [Kind(name: "", advice: ModelValidationError(issues: issues).advice)]),
    ("ModelMergeError", kinds(mergeErrors, \.advice)),
    ("AttributeTransformError", kinds(transformErrors, \.advice)),
    ("CoreDataImportError", kinds(CoreDataImportError.Code.allCases, \.advice)),
    ("SyncError", kinds(SyncError.Code.allCases, \.advice)),
  ]

  private static let issues = [ModelIssue(entityName: "Book", propertyName: "title", reason: "has no type")]
  private static let predicateFormatError = caught { _ = try FetchPredicate(format: "title ==") } as PredicateFormatError
  private static let textQueryError = caught { _ = try TextQuery("(war") } as TextQueryError
  private static let selectionError = caught { _ = try Int.output(from: "x") } as FetchSelectionError

  private static func caught<Failure: Error>(_ body: () throws -> Void) -> Failure {
    do { try body() } catch let error as Failure { return error } catch { preconditionFailure("another error: \(error)") }
    preconditionFailure("no error")
  }

  /// One error of each type and kind that can be made here.
  private static let errors: [any LocalizedError] =
    StoreError.Code.allCases.map { StoreError($0, "It went wrong.") }
    + ValidationError.Code.allCases.map { ValidationError($0, key: "title", reason: "is so") }
    + BatchError.Code.allCases.map { BatchError($0, entityName: "Book", key: "title", reason: "is so.") }
    + DocumentError.Code.allCases.map { DocumentError($0, "/tmp/a") }
    + KeyValueError.Code.allCases.map { KeyValueError($0, key: "title", entityName: "Book") }
    + ModelFileError.Code.allCases.map { ModelFileError($0, "is so") }
    + predicateErrors + resultsErrors + mergeErrors + transformErrors
    + [
      predicateFormatError, textQueryError, selectionError, MergePolicyError(issues: issues), ModelValidationError(issues: issues),
    ]

  private static func text(_ path: String) throws -> String { try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8) }

  /// The lines of the lists of the public API.
  private static func interface() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: root.appendingPathComponent("Documentation/API").path).sorted()
      .flatMap { try text("Documentation/API/\($0)").split(separator: "\n").map(String.init) }
  }

  func testEveryPublicErrorIsALocalizedErrorAndHasATable() throws {
    let lines = try Self.interface()
    let pattern = /^([\w.]+): public (?:struct|enum|final class) \w+: (?:.*, )?Error\b.*/
    let types = Set(lines.compactMap { $0.firstMatch(of: pattern).map { String($0.1) } })
    XCTAssertGreaterThan(types.count, 12, "this test does not see the errors")
    XCTAssertEqual(types, Set(Self.tables.map(\.type)))
    for type in types {
      XCTAssertTrue(
        lines.contains("\(type): extension \(type): LocalizedError"), "\(type) is not a LocalizedError: add advice")
    }
  }

  func testEveryCodeHasAdvice() throws {
    let lines = try Self.interface()
    for (type, kinds) in Self.tables {
      let declared = lines.compactMap { line in
        line.firstMatch(of: /^(\w+)(?:\.Code)?: case (\w+)/).flatMap { String($0.1) == type ? String($0.2) : nil }
      }
      XCTAssertEqual(Set(declared), Set(kinds.map(\.name).filter { !$0.isEmpty }), type)
      for kind in kinds {
        for text in [kind.advice.user, kind.advice.developer] {
          XCTAssertTrue(text.first?.isLetter == true && text.last.map { ".;)".contains($0) } == true, "\(type).\(kind.name): \(text)")
        }
        XCTAssertFalse(kind.advice.user.contains("()") || kind.advice.user.contains("mergePolicy"), "no user knows \(kind.advice.user)")
      }
    }
  }

  func testNoErrorHasTheDefaultFoundationMessage() {
    for error in Self.errors {
      let text = error.localizedDescription
      XCTAssertFalse(text.isEmpty || text.contains("could not be completed"), "\(error): \(text)")
      XCTAssertEqual(text, error.errorDescription, "\(error)")
      XCTAssertFalse(error.failureReason?.isEmpty ?? true, "\(error)")
      XCTAssertFalse(error.recoverySuggestion?.isEmpty ?? true, "\(error)")
    }
  }

  func testMessagesDescribeWhatUsersCanChange() {
    XCTAssertEqual(
      ValidationError(.missingValue, key: "title", reason: "is required").errorDescription, "title: A required value is missing.")
    XCTAssertEqual(ValidationError(reason: "Two guests have one seat.").errorDescription, "Two guests have one seat.")
    XCTAssertEqual(StoreError(.diskFull, "no space").errorDescription, "There is no space left on the disk.")
  }

  // MARK: The cause

  private struct OtherError: LocalizedError {
    var errorDescription: String? { "the meter is broken" }
  }

  func testDescriptionsEndWithTheUnderlyingError() {
    let inner = StoreError(.io, "The disk has stopped.", underlying: OtherError())
    let outer = StoreError(
      .migrationFailed, "The stage “units” failed; the store is unchanged.", operation: .migrate, underlying: inner)
    XCTAssertEqual(
      "\(outer)",
      "The stage “units” failed; the store is unchanged. The cause: The disk has stopped. "
        + "The cause: the meter is broken")
    var ofSQLite = StoreError(.io, "The file cannot be opened.", operation: .open)
    ofSQLite.path = "/a/b.store"
    (ofSQLite.sqliteCode, ofSQLite.sqliteExtendedCode) = (14, nil)
    XCTAssertEqual("\(ofSQLite)", "The file cannot be opened. (/a/b.store; SQLite error 14, CANTOPEN)")
    (ofSQLite.path, ofSQLite.sqliteExtendedCode) = (nil, 2067)
    XCTAssertEqual("\(ofSQLite)", "The file cannot be opened. (SQLite error 2067, CONSTRAINT)")
    XCTAssertEqual("\(StoreError(.io, "It failed: 7.", underlying: NumberedOtherError(number: 7)))", "It failed: 7.")
  }

  private struct NumberedOtherError: Error, CustomStringConvertible {
    let number: Int
    var description: String { "\(number)" }
  }

  // MARK: The page

  /// The comment above the declaration of each kind of an error in the sources.
  private static func meanings(of type: String) throws -> [String: String] {
    let sources = root.appendingPathComponent("Sources")
    let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
    for file in files where file.pathExtension == "swift" {
      let text = try String(contentsOf: file, encoding: .utf8)
      guard text.contains("public struct \(type): Error") || text.contains("public enum \(type): Error") else { continue }
      var (meanings, comment, code): ([String: String], [String], Bool) = ([:], [], false)
      for line in text.split(separator: "\n", omittingEmptySubsequences: false).map({ $0.trimmingCharacters(in: .whitespaces) }) {
        if line.hasPrefix("///") {
          if line == "///" { code = true }
          if !code { comment.append(line.dropFirst(3).trimmingCharacters(in: .whitespaces)) }
          continue
        }
        if let name = line.firstMatch(of: /^case (\w+)/).map({ String($0.1) }) { meanings[name] = comment.joined(separator: " ") }
        if line.hasPrefix("public struct \(type): Error") { meanings[""] = comment.joined(separator: " ") }
        (comment, code) = ([], false)
      }
      return meanings
    }
    return [:]
  }

  /// A comment as a table cell: links as code, and escaped bars.
  private static func cell(_ text: String) -> String {
    text.replacing(/``([^`]+)``/) { "`\($0.1.split(separator: "/").last ?? "")`" }.replacing("|", with: "\\|")
  }

  func testErrorDocumentationIsComplete() throws {
    let page = try Self.text("Documentation/Errors.md")
    let mark = "<!-- errors -->\n"
    var expected = ""
    for (type, kinds) in Self.tables {
      let meanings = try Self.meanings(of: type)
      expected += "## \(type)\n\n| Code | What it means | What to tell the user | What to do |\n|---|---|---|---|\n"
      for kind in kinds {
        let meaning = try XCTUnwrap(meanings[kind.name], "\(type).\(kind.name) has no comment")
        expected +=
          "| \(kind.name.isEmpty ? "" : "`\(kind.name)`") | \(Self.cell(meaning)) | \(kind.advice.user) | \(kind.advice.developer) |\n"
      }
      expected += "\n"
    }
    let parts = page.components(separatedBy: mark)
    XCTAssertEqual(parts.count, 2, "the page has one mark where the tables begin")
    if parts.last?.trimmingCharacters(in: .newlines) != expected.trimmingCharacters(in: .newlines) {
      let file = FileManager.default.temporaryDirectory.appendingPathComponent("Errors.md")
      try ((parts.first ?? "") + mark + "\n" + expected.trimmingCharacters(in: .newlines) + "\n").write(
        to: file, atomically: true, encoding: .utf8)
      XCTFail("Documentation/Errors.md is not what the errors say; put \(file.path) in its place")
    }
  }
}
