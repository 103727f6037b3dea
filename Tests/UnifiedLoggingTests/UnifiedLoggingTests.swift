import Foundation
import Logging
import Synchronization
import UnifiedLogging
import XCTest

/// Records the messages.
private final class Records: Sendable {
  struct Record: Equatable {
    var level: Logging.Logger.Level
    var text: String
  }
  let records = Mutex<[Record]>([])
  var texts: [String] { records.withLock { $0.map(\.text) } }

  func log(_ minimum: Logging.Logger.Level = .trace) -> OSLog {
    OSLog(minimum: minimum) { [self] level, text in records.withLock { $0.append(Record(level: level, text: text)) } }
  }
}

/// Messages of code for Apple's unified logging are forwarded to swift-log, with private values redacted.
final class UnifiedLoggingTests: XCTestCase {
  private let records = Records()
  private var logger: UnifiedLogging.Logger { UnifiedLogging.Logger(records.log()) }

  private struct Book: CustomStringConvertible { var description: String { "a book" } }
  private struct Failure: Error {}

  private func check(_ message: OSLogMessage, _ text: String, line: UInt = #line) {
    logger.info(message)
    XCTAssertEqual(records.texts.last, text, line: line)
  }

  // MARK: Interpolations

  func testStringsAndObjectsAreHiddenAndNumbersShownByDefault() {
    let (title, count, pages) = ("Emma", 3, UInt8(7))
    check("\(title) has \(count) of \(pages), \(1.5), \(Float(2)), \(true)", "<private> has 3 of 7, 1.500000, 2.000000, true")
    check(
      "\(Book()) \(Failure()) \(NSString(string: "x")) \(NSError(domain: "d", code: 1)) \([1, 2])",
      "<private> <private> <private> <private> <private>")
    check("\(String.self)", "String")
    check("plain % text", "plain % text")
  }

  func testPrivacyIsChosenForEachValue() {
    let (title, count) = ("Emma", 3)
    check("\(title, privacy: .public) \(Book(), privacy: .public) \(Failure(), privacy: .public)", "Emma a book Failure()")
    check(
      "\(title, privacy: .private) \(count, privacy: .private) \(count, privacy: .sensitive) \(title, privacy: .auto)",
      "<private> <private> <private> <private>")
    check("\(count, privacy: .auto) \(true, privacy: .private) \(1.5, privacy: .private)", "3 <private> <private>")
  }

  func testAHashIsTheSameForEqualValuesAndHidesThem() throws {
    for value in ["Emma", "Emma", "Persuasion"] { logger.info("\(value, privacy: .private(mask: .hash))") }
    let texts = records.texts
    XCTAssertEqual(texts[0], texts[1])
    XCTAssertNotEqual(texts[0], texts[2])
    XCTAssertTrue(texts[0].hasPrefix("<mask.hash: '"), texts[0])
    XCTAssertFalse(texts[0].contains("Emma"))
    check("\(7, privacy: .auto(mask: .hash))", "7")
  }

  func testNumbersAreWrittenByTheirFormats() {
    check(
      "\(255, format: .hex) \(255, format: .hex(includePrefix: true, uppercase: true, minDigits: 4)) \(8, format: .octal)", "ff 0x00FF 10")
    check(
      "\(-5, format: .decimal(minDigits: 3)) \(5, format: .decimal(explicitPositiveSign: true)) \(Int64.min)",
      "-005 +5 -9223372036854775808")
    check("\(1.25, format: .fixed(precision: 1)) \(1234.5, format: .exponential(precision: 2)) \(0.5, format: .hybrid)", "1.2 1.23e+03 0.5")
    check("\(1.0, format: .fixed(precision: 0, explicitPositiveSign: true)) \(Double.nan) \(true, format: .answer)", "+1 nan yes")
    check("[\("ab", align: .left(columns: 4), privacy: .public)] [\(7, align: .right(columns: 3))]", "[ab  ] [  7]")
  }

  func testValuesOfDisabledMessagesAreNotComputed() {
    var computed = 0
    func value() -> Int {
      computed += 1
      return computed
    }
    let logger = UnifiedLogging.Logger(records.log(.error))
    logger.debug("\(value())")
    logger.log(level: .info, "\(value())")
    os_log("%d", log: records.log(.error), type: .default, value())
    UnifiedLogging.Logger(.disabled).fault("\(value())")
    logger.error("\(value())")
    // The function's arguments are evaluated by its caller.
    XCTAssertEqual(records.texts, ["2"])
  }

  // MARK: Levels

  func testLevelsMatchSwiftLog() {
    let logger = logger
    logger.trace("a")
    logger.debug("b")
    logger.info("c")
    logger.notice("d")
    logger.log("e")
    logger.warning("f")
    logger.error("g")
    logger.critical("h")
    logger.fault("i")
    for type in [OSLogType.debug, .info, .default, .error, .fault] { logger.log(level: type, "j") }
    XCTAssertEqual(
      records.records.withLock { $0.map(\.level) },
      [
        .trace, .debug, .info, .notice, .notice, .warning, .error, .critical, .critical, .debug, .info, .notice, .error, .critical,
      ])
    let log = records.log(.error)
    XCTAssertEqual([OSLogType.debug, .info, .default, .error, .fault].map(log.isEnabled), [false, false, false, true, true])
    XCTAssertFalse(OSLog.disabled.isEnabled(type: .fault))
  }

  func testALoggerOfAnApplicationHasASubsystemAndACategory() {
    // The output of the process's handler is not tested here.
    for log in [
      OSLog(subsystem: "org.example", category: "storage"), OSLog(subsystem: "org.example", category: .pointsOfInterest), .default,
    ] {
      XCTAssertTrue(log.isEnabled(type: .fault))
    }
    XCTAssertNotNil(UnifiedLogging.Logger(subsystem: "org.example", category: "storage"))
    XCTAssertNotNil(UnifiedLogging.Logger())
  }

  // MARK: Formats

  private func check(_ format: StaticString, _ arguments: Any?..., is text: String, line: UInt = #line) {
    let log = records.log()
    // A variadic function cannot be called with an array.
    switch arguments.count {
    case 0: os_log(format, log: log)
    case 1: os_log(format, log: log, type: .info, arguments[0])
    case 2: os_log(.info, log: log, format, arguments[0], arguments[1])
    default: os_log(format, log: log, type: .error, arguments[0], arguments[1], arguments[2])
    }
    XCTAssertEqual(records.texts.last, text, line: line)
  }

  func testFormatsHideObjectsAndShowNumbersByDefault() {
    check("%@ %d", NSString(string: "Emma"), 3, is: "<private> 3")
    check("%{public}@ %{private}d", NSString(string: "Emma"), 3, is: "Emma <private>")
    check("%{public}@ %{public}@ %{sensitive}@", NSNumber(value: 4), NSArray(array: [1]), NSNull(), is: "4 (\n    1\n) <private>")
    check("%{public}@ %@ %{public}s", "Emma", "Emma", "Emma", is: "Emma <private> Emma")
    check("%{public}@ %{public}@", Failure(), String?.none, is: "Failure() (null)")
    "C".withCString { pointer in check("%s %{public}s", pointer, pointer, is: "<private> C") }
    check("%{private, mask.hash}@", NSString(string: "Emma"), is: "<mask.hash: '\(hash(of: "Emma"))'>")
  }

  private func hash(of text: String) -> String {
    var hasher = Hasher()
    hasher.combine(text)
    return String(UInt(bitPattern: hasher.finalize()), radix: 16)
  }

  func testConversionsMatchC() {
    check("%d %i %u", 1, Int32(-2), UInt8(3), is: "1 -2 3")
    check("%x %X %o", Int32(-1), 255, 8, is: "ffffffff FF 10")
    check("%5d|%-5d|%05d", 1, 2, 3, is: "    1|2    |00003")
    check("%lld %zd %hhu", Int64.min, 7, UInt8.max, is: "-9223372036854775808 7 255")
    check("%.2f %e %g", 1.005, 1500.0, Float(0.25), is: "1.00 1.500000e+03 0.25")
    check("%*d %c", 4, 5, 65, is: "   5 A")
    check("%{bool}d %{BOOL}d 100%%", 1, 0, is: "true NO 100%")
    check("%{public}.3s|%{public}6s", NSString(string: "abcdef"), NSString(string: "ab"), is: "abc|    ab")
    check("no arguments", is: "no arguments")
    check("100%", is: "100%")
  }

  func testFormatMismatchesAreReportedInTheText() {
    check("%d", NSString(string: "x"), is: "<decode: mismatch for [%d] got [NSString]>")
    check("%d %d", 1, is: "1 <decode: missing data>")
    check("%f %f", 1, "1", is: "1.000000 <decode: mismatch for [%f] got [String]>")
    check("%99999999d|", 1, is: String(repeating: " ", count: 999) + "1|")
    check("%q", 1, is: "%")
    check("%{public", is: "<decode: missing data>public")
  }

  func testOSLogFunctionWritesInterpolations() {
    let title = "Emma"
    os_log(.error, log: records.log(), "\(title) \(3)")
    XCTAssertEqual(records.texts, ["<private> 3"])
    os_log("\(title)")
    os_log("a")
  }
}
