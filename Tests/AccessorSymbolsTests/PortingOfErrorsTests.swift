// Patterns and casts to NSError and NSMutableSet are written as Linux needs them.
import AccessorSymbols
import XCTest

final class PortingOfErrorsTests: XCTestCase {
  private func check(_ source: String, becomes new: String, remarks: Int = 0, at place: UInt = #line) {
    let port = SourcePort(source)
    XCTAssertEqual(port.result, new, line: place)
    XCTAssertEqual(port.remarks.count, remarks, "\(port.remarks)", line: place)
    XCTAssertEqual(SourcePort(new).result, new, line: place)
  }

  func testErrorsThatAreCaughtAsNSErrorAreConverted() {
    check(
      "do {\n  try save()\n} catch let error as NSError {\n  print(error.code)\n}\n",
      becomes: "do {\n  try save()\n} catch {\n  let error = error as NSError\n  print(error.code)\n}\n")
    check(
      "do { try save() } catch var failure as NSError { show(&failure) }\n",
      becomes: "do { try save() } catch { var failure = error as NSError; show(&failure) }\n")
    check("do { try save() } catch let error as NSError {}\n", becomes: "do { try save() } catch {}\n")
    check("do { try save() } catch is NSError {\n  a()\n}\n", becomes: "do { try save() } catch {\n  a()\n}\n")
    check(
      "do {\n\ttry save()\n} catch MyError.a(let x) {\n\tb(x)\n}\ncatch let e as NSError\n{\n\t// What failed.\n\tlog(e)\n}\n",
      becomes:
        "do {\n\ttry save()\n} catch MyError.a(let x) {\n\tb(x)\n}\ncatch {\n\tlet e = error as NSError\n\t// What failed.\n\tlog(e)\n}\n")
  }

  func testPatternsThatCannotBeReplacedAreRemarkedOn() {
    for source in [
      "do { try save() } catch let error as NSError where error.code == 4 { a() } catch { b() }\n",
      "do { try save() } catch let error as NSError, is MyError { a() }\n",
      "switch error {\ncase let error as NSError: a(error)\n}\n", "switch error {\ncase is NSError: a()\ndefault: b()\n}\n",
      "if case let failure as NSError = error { a(failure) }\n",
    ] {
      check(source, becomes: source, remarks: 1)
    }
    for source in [
      "do { try save() } catch { let error = error as NSError; a(error) }\n",
      "do { try save() } catch let error as CocoaError { a(error) }\n",
      "#if canImport(ObjectiveC)\ndo { try save() } catch let error as NSError { a(error) }\n#endif\n", "enum Kind { case a, b }\n",
      "publisher.catch { Just($0 as NSError) }\n", "let text = \"catch let error as NSError {\"\n",
    ] {
      check(source, becomes: source)
    }
  }

  func testCastsOfErrorsDoNotFail() {
    check("if let e = error as? NSError { a(e) }\n", becomes: "if let e = error as NSError? { a(e) }\n")
    check("let code = (self.loadError as? NSError)?.code\n", becomes: "let code = (self.loadError as NSError?)?.code\n")
    check("let e = values[0] as? NSError\n", becomes: "let e = values[0] as? NSError\n")
    check("let e = error as NSError\n", becomes: "let e = error as NSError\n")
  }

  func testSetsOfRelationshipsThatAreChangedAreMutable() {
    check(
      "if let books = value(forKeyPath: relation.name) as? NSMutableSet { a(books) }\n",
      becomes: "if let books = Optional(mutableSetValue(forKeyPath: relation.name)) { a(books) }\n")
    check(
      "let books = author.value(forKey: \"books\") as! NSMutableSet\n", becomes: "let books = author.mutableSetValue(forKey: \"books\")\n")
    check(
      "(self.author?.value(forKey: key(of: 1)) as? NSMutableSet)?.add(book)\n",
      becomes: "(self.author?.mutableSetValue(forKey: key(of: 1)))?.add(book)\n")
    check("let a = author.value(forKey: \"books\") as? NSSet\n", becomes: "let a = author.value(forKey: \"books\") as? NSSet\n")
    let source = "let books = primitiveValue(forKey: \"books\") as! NSMutableSet\n"
    check(source, becomes: source, remarks: 1)
  }
}
