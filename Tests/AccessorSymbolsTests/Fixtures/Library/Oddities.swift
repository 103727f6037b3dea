// Constructs that can confuse a scanner: only the declared properties count.
// swift-format-ignore-file
import CoreData
import Foundation

/* @NSManaged var inComment: Int /* and in another */ class Comment: NSManagedObject { @NSManaged var x: Int } */
// @NSManaged var inLine: Int
let text = "class Text: NSManagedObject { @NSManaged var x: Int } \("nested \(1 + 2) @NSManaged var y: Int }")"
let lines = """
  class Lines: NSManagedObject { @NSManaged var x: Int
  \("}") "" \" }
  """
let raw = #"\ " class Raw { \#("}") "#
let expression = try? Regex("[}]")
let slash = { (x: Int) in x / 2 }(4) / 2
let pattern = /class [\/}{] { @NSManaged var x: Int/
let extended = #/
  } { class
  /#

final class Odd: NSManagedObject {
  static let shared = { () -> [Int] in
    var open = 1
    if open > 0 { open += 1 }
    return [open].map { $0 }
  }()
  var computed: Int { class Inner { var x = 1 }; return Inner().x }
  var observed: Int = 3 { didSet { print("}") } }
  let values: [String: Int] = ["a": 1, "b": [1, 2].count]
  lazy var late: (Int) -> [Int] = { [unowned self] x in [x, self.observed] }
  var `protocol` = 1, other = (1, 2), third: Int = 2
  func generic<T: Collection>(_ value: T, or default: @autoclosure () -> Int = 3) -> [T.Element] where T.Element == Int { Array(value) }
  static func < (left: Odd, right: Odd) -> Bool { left.first < right.first }
  subscript(_ index: Int) -> Int { get { index } set { first = newValue } }
  enum Case: Int { case a = 1, b; case c; static let `class` = Case.a; var isA: Bool { self == .a } }
  init(open: Int) { super.init() }
  deinit { print("deinit }") }

  @NSManaged
  public
    var first: Int
  @available(*, deprecated, message: "use } first") @NSManaged var second: Int
  @NSManaged var third3:
    [String:
      Int]?
  @NSManaged var kind: Case; @NSManaged var sameLine: Int
  @NSManaged var /* why */ fourth /* not */: /* here */ Int // a comment: String
  let after = 1
}

protocol Shelf {
  associatedtype Item: NSManagedObject
  var odd: Odd { get set }
  func item<T>(of type: T.Type) throws -> Item where T: Shelf
  init(_ odd: Odd)
}
precedencegroup Odder { associativity: left }
infix operator <<<: Odder
func <<< (left: Int, right: Int) -> Int { left << right }
struct Generic<T> { var value: T; struct Inner { var value: Int } }
extension Generic where T == Int { var class2: Int { value } }
extension Generic.Inner: Equatable {}
actor Clerk { var actor: Int = 1; func package(_ open: Int) -> Int { open } }
