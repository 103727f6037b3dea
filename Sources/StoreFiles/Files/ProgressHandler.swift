// ProgressHandler: how long work tells how far it is, and is stopped.

/// Called with how far a long work is; answers whether to go on.
package typealias ProgressHandler = @Sendable (_ done: Int, _ total: Int) -> Bool
