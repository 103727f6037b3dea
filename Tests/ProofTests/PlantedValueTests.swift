import Foundation
import StoreKeys
import XCTest
import _FaultInjection
import _TestSupport

/// No stored value, no word of a stored text and no passphrase occurs in anything that the library writes, prints, logs or reports.
///
/// The whole test program searches its writes for all values that any suite stores (write_watch.h), and ends with an error if it finds one.
/// These tests prove that the search works, and search the output that it does not cover for 500 values and 2,000 words.
final class PlantedValueTests: XCTestCase {
  private static let role = "CIPHERDATA_PLANTED_VALUES"

  func testPlantedValuesAreDetectedInOutput() throws {
    guard fault_injection_works() else { return }
    XCTAssertTrue(write_watch_is_on())
    let folder = try TemporaryFolder("PlantedValueTests")
    let value = "bq7hszk2mvw9pd4xnt6c"
    write_watch_note(value, value.utf8.count)
    let before = write_watch_count()
    var expected = before.found
    func assertFound(_ what: String, _ write: (Data) throws -> Void) rethrows {
      for text in ["before " + value, String(repeating: "z", count: 5_000) + value.dropFirst(0), value + " behind"] {
        try write(Data(text.utf8))
        expected += 1
        XCTAssertEqual(write_watch_count().found, expected, what)
        expected = write_watch_count().found
      }
    }
    try assertFound("a file") { try $0.write(to: folder.file("one")) }
    try assertFound("a handle") { data in
      try Data().write(to: folder.file("two"))
      let handle = try FileHandle(forWritingTo: folder.file("two"))
      try handle.write(contentsOf: data)
      try handle.close()
    }
    let file = open(folder.file("three").path, O_RDWR | O_CREAT, 0o600)
    let stream = try XCTUnwrap(fdopen(dup(file), "w"))
    assertFound("pwrite") { data in _ = data.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, 3) } }
    assertFound("writev") { data in
      var bytes = Array(data)
      let count = bytes.count
      bytes.withUnsafeMutableBytes { buffer in
        let parts = [iovec(iov_base: buffer.baseAddress, iov_len: count)]
        _ = writev(file, parts, 1)
      }
    }
    assertFound("a stream") { data in _ = data.withUnsafeBytes { fwrite($0.baseAddress, 1, $0.count, stream) } }
    fclose(stream)
    close(file)
    // A value bound to a statement of an encrypted database is registered automatically.
    let noted = write_watch_count().noted
    XCTAssertGreaterThan(noted, 0)
    write_watch_forgive(before.found)
  }

  func testNoPlantedValueLeaksFromTheStore() throws {
    guard fault_injection_works(), ProcessInfo.processInfo.environment[Self.role] == nil else { return }
    Planted.note()
    let folder = try TemporaryFolder("PlantedValueTests")
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(fileURLWithPath: try XCTUnwrap(CommandLine.arguments.first))
    process.arguments = ["ProofTests.PlantedValueTests/testRunChildWithPlantedValues"]
    // All output is searched too, and the remaining files in the temporary folder.
    let environment = [
      Self.role: folder.url.path, "TMPDIR": folder.url.path, "CIPHERDATA_LOG": "sql,migration", "CIPHERDATA_WRITE_WATCH": "strict",
    ]
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    (process.standardOutput, process.standardError) = (pipe, pipe)
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let lines = String(decoding: output, as: UTF8.self).split(separator: "\n")
    XCTAssertFalse(Planted.isIn(output), "what it printed has a value")
    XCTAssertEqual(
      process.terminationStatus, 0, lines.filter { $0.contains("error") || $0.contains(" has ") }.prefix(20).joined(separator: "\n"))
    XCTAssertTrue(lines.contains("PLAYED"), "\(lines.suffix(5))")
    XCTAssertGreaterThan(lines.count { $0.hasPrefix("CipherData sql ") }, 100)
    let work = PlantedWork(in: folder.url)
    try work.search(folder.url, "left over")
    XCTAssertGreaterThan(work.fileCount, 5)
  }

  /// Runs in a child process.
  func testRunChildWithPlantedValues() throws {
    guard let path = ProcessInfo.processInfo.environment[Self.role] else { return }
    Planted.note()
    let work = PlantedWork(in: URL(fileURLWithPath: path))
    try work.write()
    try work.ask()
    try work.change()
    try work.fail()
    try work.keep()
    try work.damage()
    XCTAssertGreaterThan(work.errorCount, 9)
    XCTAssertGreaterThan(work.receivedTexts.count, 5)
    for text in work.texts + work.receivedTexts where Planted.isIn(Data(text.utf8)) {
      XCTFail("a text of \(text.count) characters has a value: \(text.prefix(40))…")
    }
    print("PLAYED")
  }
}
