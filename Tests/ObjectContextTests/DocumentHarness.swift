import CipherDataDocuments
import Foundation
import ObjectContext
import ObjectStore
import SQLCipherStore
import StoreKeys
import XCTest
import _TestSupport

extension ManagedDocument {
  static let testKey = StoreKey.databaseKey(SecretBytes([UInt8](repeating: 7, count: 32)))

  /// Makes a document with the library model.
  static func library(
    _ url: URL, clock: some Clock<Duration> = ManualClock(), mergePolicy: MergePolicy? = nil, observesOthers: Bool = true
  ) throws -> ManagedDocument {
    try ManagedDocument(
      url: url, model: Library.model, classes: Library.classes, mergePolicy: mergePolicy, autosaveDelay: .seconds(1), clock: clock
    ) {
      $0.key = testKey
      $0.durability = .fast
      $0.postsRemoteChangeNotifications = observesOthers
    }
  }

  static func opened(
    _ url: URL, clock: some Clock<Duration> = ManualClock(), mergePolicy: MergePolicy? = nil, observesOthers: Bool = true
  ) async throws -> ManagedDocument {
    let document = try library(url, clock: clock, mergePolicy: mergePolicy, observesOthers: observesOthers)
    try await document.open()
    return document
  }

  static func created(_ url: URL, clock: some Clock<Duration> = ManualClock(), observesOthers: Bool = true) async throws -> ManagedDocument
  {
    let document = try library(url, clock: clock, observesOthers: observesOthers)
    try await document.save(to: url, for: .creating)
    return document
  }

  /// Waits until a condition holds after an event of the context.
  func waitUntil(_ holds: () throws -> Bool) async rethrows {
    let changes = managedObjectContext.changes()
    if try holds() { return }
    for await _ in changes where try holds() { return }
  }

  /// Waits until the document is in a state.
  func wait(for state: DocumentState) async {
    for await now in documentStates() where now.isSuperset(of: state) { return }
  }

  func tagNames() throws -> [String] { try managedObjectContext.all(Tag.self, sortedBy: "name").map(\.name) }

  @discardableResult func addTag(_ name: String) -> Tag {
    let tag = Tag(context: managedObjectContext)
    tag.name = name
    return tag
  }

  @discardableResult func addBook(_ title: String) -> Book {
    let book = Book(context: managedObjectContext)
    book.title = title
    return book
  }

  func book() throws -> Book { try XCTUnwrap(managedObjectContext.all(Book.self).first) }
}

/// Asserts that `body` throws a document error with a code.
@MainActor func assertThrows(
  _ code: DocumentError.Code, file: StaticString = #filePath, line: UInt = #line, _ body: () async throws -> Void
) async {
  do {
    try await body()
    XCTFail("It throws nothing.", file: file, line: line)
  } catch {
    XCTAssertEqual((error as? DocumentError)?.code, code, "\(error)", file: file, line: line)
  }
}

/// A child process of this test program that runs a part of a test class, such as ``DocumentProcessTests``.
final class DocumentPart: Sendable {
  static let role = "CIPHERDATA_DOCUMENT_ROLE"
  static let arguments = "CIPHERDATA_DOCUMENT_ARGUMENTS"
  private let lines: AsyncStream<String>
  private let status: AsyncStream<Int32>

  /// - Parameters:
  ///   - role: The part to run.
  ///   - arguments: The arguments of the part.
  ///   - test: The class whose `testProcessEntryPoint` runs it.
  init(_ role: String, _ arguments: [String], of test: String = "DocumentProcessTests") throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: try XCTUnwrap(CommandLine.arguments.first))
    process.arguments = ["ObjectContextTests.\(test)/testProcessEntryPoint"]
    process.environment = ProcessInfo.processInfo.environment.merging(
      [Self.role: role, Self.arguments: arguments.joined(separator: "\n")]) { $1 }
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    let (status, ended) = AsyncStream.makeStream(of: Int32.self)
    process.terminationHandler = {
      ended.yield($0.terminationStatus)
      ended.finish()
    }
    let (lines, said) = AsyncStream.makeStream(of: String.self)
    let output = pipe.fileHandleForReading
    (self.lines, self.status) = (lines, status)
    try process.run()
    Thread.detachNewThread {
      var rest = ""
      while case let data = output.availableData, !data.isEmpty {
        rest += String(decoding: data, as: UTF8.self)
        while let end = rest.firstIndex(of: "\n") {
          said.yield(String(rest[..<end]))
          rest = String(rest[rest.index(after: end)...])
        }
      }
      said.finish()
    }
  }

  /// Sends a line to the parent process.
  static func say(_ text: String) {
    let line = Array("SAYS \(text)\n".utf8)
    _ = write(1, line, line.count)
  }

  /// Waits for a line from the process.
  func wait(for text: String, file: StaticString = #filePath, line: UInt = #line) async {
    for await said in lines where said == "SAYS \(text)" { return }
    XCTFail("It ended, and never said \(text)", file: file, line: line)
  }

  /// Waits for the process to exit successfully.
  func finish(file: StaticString = #filePath, line: UInt = #line) async {
    for await status in status { XCTAssertEqual(status, 0, "its part failed", file: file, line: line) }
  }
}
