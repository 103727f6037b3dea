import AccessorSymbols
import Foundation
import XCTest

/// Selector-based notification observers become closures, which are removed where the observers are.
final class PortingOfObserversTests: XCTestCase {
  /// A class that observes in its initializer and stops in a method, and one that stops when it is deinitialized.
  private static let source = """
    import Foundation

    class Counter {
      var (saves, ends, others) = (0, 0, 0)
      let sender = NSObject()

      init() {
        NotificationCenter.default.addObserver(self, selector: #selector(saved(_:)), name: .saved, object: nil)
        NotificationCenter.default.addObserver(self, selector: #selector(Counter.ended), name: .ended, object: sender)
        NotificationCenter.default.addObserver(self, selector: Selector(("noted:")), name: Notification.Name("other"), object: nil)
      }

      func stopSaves() {
        NotificationCenter.default.removeObserver(self, name: .saved, object: nil)
      }

      func stopEnds(of other: NSObject) {
        NotificationCenter.default.removeObserver(self, name: .ended, object: other)
      }

      func stop() {
        let center = NotificationCenter.default
        center.removeObserver(self)
      }
    }

    extension Counter {
      @objc func saved(_ notification: Notification) { saves += 1 }
      @objc func ended() { ends += 1 }
      @objc func noted(_ notification: NSNotification) { others += 1 }
    }

    /// Has methods of the same names that take something else.
    final class Player {
      static var played = 0
      init() { observe() }
      func observe() {
        NotificationCenter.default.addObserver(self, selector: #selector(saved), name: .saved, object: nil)
      }
      @objc func saved() { Player.played += 1 }
      deinit {
        NotificationCenter.default.removeObserver(self)
      }
    }

    extension Notification.Name {
      static let saved = Notification.Name("saved")
      static let ended = Notification.Name("ended")
    }

    """

  func testRemovedObserversAreNotCalled() throws {
    let port = SourcePort(Self.source)
    XCTAssertEqual(port.remarks, [])
    let program = """
      import Foundation
      let counter = Counter()
      var player: Player? = Player()
      func post(_ name: String, _ object: Any? = nil) { NotificationCenter.default.post(name: Notification.Name(name), object: object) }
      func all() {
        post("saved")
        post("ended", counter.sender)
        post("other")
        print(counter.saves, counter.ends, counter.others, Player.played)
      }
      all()
      counter.stopSaves()
      all()
      counter.stopEnds(of: NSObject())
      all()
      counter.stopEnds(of: counter.sender)
      player = nil
      all()
      counter.stop()
      all()
      """
    try CompiledModules.with { modules in
      let files = [try modules.write(port.result, as: "Counter.swift"), try modules.write(program, as: "main.swift")]
      XCTAssertEqual(
        try modules.output(of: "Program", files, linking: [], flags: ["-swift-version", "5"]),
        "1 1 1 1\n1 2 2 2\n1 3 3 3\n1 3 4 3\n1 3 4 3\n")
    }
  }

  func testSourcesWithTokensAreNotChangedAgain() {
    let result = SourcePort(Self.source).result
    XCTAssertEqual(result.components(separatedBy: "var notificationObservers").count, 2, result)
    XCTAssertFalse(SourcePort(result).isChanged, SourcePort(result).difference(path: "a"))
  }

  func testClassesThatStopObservingInDeinitKeepNoTokens() {
    let port = SourcePort(
      """
      class Player {
        func observe() {
          center.addObserver(self, selector: #selector(saved), name: name, object: nil)
        }
        @objc func saved() {}
        deinit { NotificationCenter.default.removeObserver(self) }
      }

      """)
    XCTAssertTrue(port.result.contains("_ = center.addObserver(forName: name, object: nil, queue: nil) { [weak self] _ in"), port.result)
    XCTAssertFalse(port.result.contains("notificationObservers"), port.result)
    XCTAssertTrue(port.result.contains("deinit { NotificationCenter.default.removeObserver(self) }"), port.result)
  }

  func testMethodAndRemovalMayBeInOtherSources() {
    let sources = [
      "class Stack {\n  func observe() {\n    center.addObserver(self, selector: #selector(saved), name: name, object: nil)\n  }\n}\n",
      "extension Stack {\n  @objc func saved(note: Notification) {}\n  func stop() {\n    center.removeObserver(self)\n  }\n}\n",
    ]
    let folder = PortedFolder(sources)
    let ported = sources.map { SourcePort($0, in: folder) }
    XCTAssertTrue(ported[0].result.contains("var notificationObservers: ["), ported[0].result)
    XCTAssertTrue(ported[0].result.contains("self?.saved(note: notification)"), ported[0].result)
    XCTAssertTrue(
      ported[1].result.contains("notificationObservers.removeAll { observer in\n      center.removeObserver(observer.token)"),
      ported[1].result)
    XCTAssertEqual(ported.flatMap(\.remarks), [])
  }

  func testObserverMethodsWithOtherParametersAreReported() {
    for parameters in ["_ a: Notification, _ b: Int", "_ sender: Button"] {
      let port = SourcePort(
        "class A {\n  func b() {\n    center.addObserver(self, selector: #selector(c), name: n, object: nil)\n  }\n  @objc func c(\(parameters)) {}\n}\n"
      )
      XCTAssertEqual(port.remarks.map(\.line), [3], parameters)
      XCTAssertFalse(port.result.contains("forName"), port.result)
    }
  }

  func testKeyValueObserversAreUnchanged() {
    let source = "class A {\n  func b() {\n    item.removeObserver(self, forKeyPath: \"c\")\n  }\n}\n"
    XCTAssertFalse(SourcePort(source).isChanged)
  }
}
