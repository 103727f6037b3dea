import AccessorSymbols
import XCTest

/// Casts of fetch requests and names outside of the CoreData module are ported with the same meaning on Linux.
final class PortingOfCastsTests: XCTestCase {
  private func port(_ line: String, changes new: String, remarks: Int = 0, file: StaticString = #filePath, at place: UInt = #line) {
    let port = SourcePort("import CoreData\n\(line)\n")
    let expected = new.isEmpty ? line : "#if canImport(ObjectiveC)\n\(line)\n#else\n\(new)\n#endif"
    XCTAssertEqual(port.result, "import CoreData\n\(expected)\n", file: file, line: place)
    XCTAssertEqual(port.remarks.count, remarks, file: file, line: place)
    XCTAssertFalse(SourcePort(port.result).isChanged, file: file, line: place)
  }

  func testACastOfAFetchRequestIsAnInitializerOnLinux() {
    port(
      "let delete = NSBatchDeleteRequest(fetchRequest: request as! NSFetchRequest<NSFetchRequestResult>)",
      changes: "let delete = NSBatchDeleteRequest(fetchRequest: NSFetchRequest<NSFetchRequestResult>(request))")
    port(
      "let books = Book.fetchRequest() as! NSFetchRequest<Book>", changes: "let books = NSFetchRequest<Book>(Book.fetchRequest())")
    port(
      "let books = try make(1)[0]!.request as? NSFetchRequest<any NSFetchRequestResult>",
      changes: "let books = try Optional(NSFetchRequest<any NSFetchRequestResult>(make(1)[0]!.request))")
    port(
      "let a = NSFetchRequest<NSManagedObject>(entityName: \"A\") as! NSFetchRequest<A>",
      changes: "let a = NSFetchRequest<A>(NSFetchRequest<NSManagedObject>(entityName: \"A\"))")
    port("return (request) as! NSFetchRequest<Self>", changes: "return NSFetchRequest<Self>((request))")
    port(
      "try check(a as! NSFetchRequest<A>, b as! NSFetchRequest<B>)", changes: "try check(NSFetchRequest<A>(a), NSFetchRequest<B>(b))")
  }

  func testMultilineStatementsAreDuplicated() {
    port(
      """
      super.init(
        fetchRequest: request as! NSFetchRequest<NSFetchRequestResult>,
        sectionNameKeyPath: nil
      )
      """,
      changes: """
        super.init(
          fetchRequest: NSFetchRequest<NSFetchRequestResult>(request),
          sectionNameKeyPath: nil
        )
        """)
    port(
      """
      let request = try XCTUnwrap(
        Book
          .fetchRequest() as? NSFetchRequest<NSManagedObject>)
      """,
      changes: """
        let request = try XCTUnwrap(
          Optional(NSFetchRequest<NSManagedObject>(Book
            .fetchRequest())))
        """)
  }

  func testStatementsWithinALineGetTheirOwnLines() {
    let port = SourcePort("extension Book {\n  static var all: NSFetchRequest<Book> { fetchRequest() as! NSFetchRequest<Book> }\n}\n")
    XCTAssertEqual(
      port.result,
      """
      extension Book {
        static var all: NSFetchRequest<Book> {
        #if canImport(ObjectiveC)
        fetchRequest() as! NSFetchRequest<Book>
        #else
        NSFetchRequest<Book>(fetchRequest())
        #endif
        }
      }

      """)
  }

  func testOtherChangesAppearInBothCopiesOfAStatement() {
    let port = SourcePort(
      "import CoreData\nrun(#keyPath(Book.title), request as! NSFetchRequest<Book>)\nlet next = #keyPath(Book.title)\n")
    XCTAssertEqual(
      port.result,
      """
      import CoreData
      #if canImport(ObjectiveC)
      run("title", request as! NSFetchRequest<Book>)
      #else
      run("title", NSFetchRequest<Book>(request))
      #endif
      let next = "title"

      """)
  }

  func testCastsInConditionsAreReported() {
    port("if let books = request as? NSFetchRequest<Book> { use(books) }", changes: "", remarks: 1)
    port("let number = value as! NSNumber", changes: "")
  }

  func testModuleQualifiersOfReplacedTypesAreRemoved() {
    XCTAssertEqual(
      SourcePort("import CoreData\nclass A: Foundation.ValueTransformer { let u: Foundation.UndoManager? = nil, d = Foundation.Date() }\n")
        .result,
      "import CoreData\nclass A: ValueTransformer { let u: UndoManager? = nil, d = Foundation.Date() }\n")
    let own = "import CoreData\nclass ValueTransformer {}\nclass A: Foundation.ValueTransformer {}\n"
    XCTAssertEqual(SourcePort(own).result, own)
    XCTAssertEqual(SourcePort("import CoreData.CoreDataDefines\n").result, "import CoreData\n")
  }

  func testKeyValueObservingIsReported() {
    let port = SourcePort("import CoreData\nvar token: NSKeyValueObservation?\n")
    XCTAssertEqual(port.remarks.map(\.line), [2])
  }

  func testErrorArgumentsOfFormatsKeepTheirType() {
    func check(_ line: String, becomes new: String, at place: UInt = #line) {
      let port = SourcePort("import CoreData\n\(line)\n")
      XCTAssertEqual(port.result, "import CoreData\n\(new)\n", line: place)
      XCTAssertEqual(port.remarks, [], line: place)
    }
    check("os_log(\"%@\", error as CVarArg)", becomes: "os_log(\"%@\", error as NSError)")
    check("os_log(\"%@\", self.loadError as CVarArg)", becomes: "os_log(\"%@\", self.loadError as NSError)")
    // The type of the value is unknown.
    check("os_log(\"%@\", title as CVarArg)", becomes: "os_log(\"%@\", title as CVarArg)")
  }
}
