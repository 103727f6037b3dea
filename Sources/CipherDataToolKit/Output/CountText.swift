/// Numbers of things in messages.
enum CountText {
  /// Returns a number with its noun in the singular or the plural: `1 record`, `2 records`.
  static func text(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
