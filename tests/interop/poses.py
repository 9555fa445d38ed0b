"""Poses in videos, and the measures of the paper's appendix for one video, in numpy."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SIGMAS = [0.5, 1, 2, 3, 4]
CS = [0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
JOINTS = ["hip", "knee", "ankle", "neck", "head"]


def videos(seed, dimensions=3, lengths=(20, 13, 3)):
    """True and predicted positions of each video, frames × joints × dimensions."""
    rng = np.random.default_rng(seed)
    truth = [np.cumsum(rng.normal(0, 5, (n, len(JOINTS), dimensions)), axis=0) + rng.normal(0, 300, (1, len(JOINTS), dimensions)) for n in lengths]
    return [(pose, pose + rng.normal(0, 30, pose.shape) + rng.normal(0, 10, (1, *pose.shape[1:]))) for pose in truth]


def write(sets, path, seed=0):
    """One row for each joint of each frame, in any order."""
    axes = "xyz"[: sets[0][0].shape[2]]
    rows = [
        {"video": f"clip {v}", "frame": f, "joint": JOINTS[j]}
        | {axis: truth[f, j, k] for k, axis in enumerate(axes)}
        | {f"predicted_{axis}": predicted[f, j, k] for k, axis in enumerate(axes)}
        for v, (truth, predicted) in enumerate(sets)
        for f in range(len(truth))
        for j in range(len(JOINTS))
    ]
    # The first row says which joint is the root unless told otherwise.
    order = np.concatenate([[0], 1 + np.random.default_rng(seed).permutation(len(rows) - 1)])
    pq.write_table(pa.Table.from_pylist([rows[row] for row in order]), path)
    return path


def smooth(predicted, sigma, c):
    frames = np.arange(len(predicted))
    kernel = np.exp(-((frames[:, None] - frames) ** 2) / (2 * sigma**2))
    return c * np.einsum("ts,sjk->tjk", kernel / kernel.sum(axis=1, keepdims=True), predicted) + (1 - c) * predicted


def pck(truth, predicted):
    box = np.ptp(truth[:, :, :2], axis=1).max(axis=1)
    return 100 * (np.linalg.norm((predicted - truth)[:, :, :2], axis=2) <= 0.05 * box[:, None]).mean()


def mpjpe(truth, predicted, root):
    at_root = lambda pose: pose - pose[:, root].mean(axis=1, keepdims=True)
    return np.linalg.norm(at_root(predicted) - at_root(truth), axis=2).mean()


def pa_mpjpe(truth, predicted):
    return np.mean([np.linalg.norm(procrustes(t, p) - t, axis=1).mean() for t, p in zip(truth, predicted)])


def procrustes(truth, predicted):
    to, source = truth - truth.mean(axis=0), predicted - predicted.mean(axis=0)
    u, s, vt = np.linalg.svd(source.T @ to)
    flip = np.diag([1, 1, np.sign(np.linalg.det(u @ vt))])
    rotation = u @ flip @ vt
    return (s * np.diag(flip)).sum() / (source**2).sum() * source @ rotation + truth.mean(axis=0)


def acceleration(truth, predicted):
    bend = lambda pose: pose[:-2] - 2 * pose[1:-1] + pose[2:]
    return np.linalg.norm(bend(predicted) - (bend(truth) if truth.shape[2] == 3 else 0), axis=2).mean()


def scores(sets, root=(0,)):
    """The four measures, averaged over videos; two of flat poses."""
    mean = lambda of: np.mean([of(truth, predicted) for truth, predicted in sets])
    space = sets[0][0].shape[2] == 3
    return {
        "pck": mean(pck),
        "mpjpe": mean(lambda t, p: mpjpe(t, p, list(root))) if space else None,
        "pa_mpjpe": mean(pa_mpjpe) if space else None,
        "acceleration": mean(acceleration),
    }
