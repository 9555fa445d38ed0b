"""Make the sample data of geosmooth: house sales with the predictions of four real models.

The sales are split at random into thirds. Models of log price are fitted on the training third
only; the hyperparameters of each are the candidate that scores best on the validation third.
Validation and test rows get the model's predictions, training rows get out-of-fold predictions.

    python make_samples.py [lucas_county_house_sales.parquet]

Writes train, validation, test and test_geo (.parquet) beside this script.
"""

import sys
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.compose import make_column_transformer
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBRegressor

HERE = Path(__file__).resolve().parent
SEED = 2020
FOLDS = 5

SKEWED = ["living_area", "lot_size", "frontage", "depth", "garage_area"]
COUNTS = ["beds", "baths", "half_baths", "rooms"]
CATEGORIES = ["stories", "wall", "garage"]
PLACE = ["latitude", "longitude"]
MODELS = ["xgb", "ridge", "rff", "xgb_location"]


def read_sales(path):
    """The sales in file order, with log price, and places rounded to the 6 decimals they have."""
    sales = pd.read_parquet(path)
    sales["log_price"] = np.log(sales["price"])
    sales[PLACE] = sales[PLACE].round(6)
    first = ["id", "price", "log_price", *PLACE]
    return sales[first + [name for name in sales.columns if name not in first]]


def split(sales):
    """Random thirds; each keeps the order of the file."""
    rows = np.random.default_rng(SEED).permutation(len(sales))
    names = ["train", "validation", "test"]
    return {name: sales.iloc[np.sort(third)] for name, third in zip(names, np.array_split(rows, 3))}


def features(sales):
    """What the models see. Never `id`: it counts the rows from south to north, so it is a place."""
    table = sales[COUNTS + CATEGORIES + PLACE].copy()
    table["age"] = sales["age"]
    table["age_squared"] = sales["age"] ** 2
    table["sale_year"] = sales["sale_date"].dt.year
    table["sale_month"] = sales["sale_date"].dt.month
    for column in SKEWED:
        table[f"log_{column}"] = np.log1p(sales[column])
    return table


def encoder(with_place):
    """One-hot categories, the rest as numbers; the place is dropped unless asked for."""
    numbers = COUNTS + ["age", "age_squared", "sale_year", "sale_month"]
    numbers += [f"log_{column}" for column in SKEWED] + (PLACE if with_place else [])
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer(("passthrough", numbers), (one_hot, CATEGORIES))


def xgb(depth, trees, with_place=False):
    model = XGBRegressor(
        max_depth=depth,
        n_estimators=trees,
        learning_rate=0.02,
        min_child_weight=5,
        subsample=0.7,
        colsample_bytree=0.4,
        random_state=SEED,
        n_jobs=1,
    )
    return make_pipeline(encoder(with_place), model)


def ridge(alpha):
    return make_pipeline(encoder(False), StandardScaler(), Ridge(alpha))


def rff(gamma, alpha):
    """1000 features cos(w·x + b), w ~ N(0, 2 gamma), as in the paper, then ridge."""
    cosines = RBFSampler(gamma=gamma, n_components=1000, random_state=SEED)
    return make_pipeline(encoder(False), StandardScaler(), cosines, Ridge(alpha))


def candidates():
    """For each prediction column the models to choose from, by a label that names their settings."""
    trees = [(4, 1000), (5, 1000), (6, 800), (7, 1500), (8, 2000)]
    alphas = [0.1, 1, 10, 100]
    bands = [(gamma, alpha) for gamma in (1e-3, 3e-3, 1e-2) for alpha in (1e-2, 1e-1, 1)]
    return {
        "xgb": {f"depth {d}, {n} trees": xgb(d, n) for d, n in trees},
        "ridge": {f"alpha {a:g}": ridge(a) for a in alphas},
        "rff": {f"gamma {g:g}, alpha {a:g}": rff(g, a) for g, a in bands},
        "xgb_location": {f"depth {d}, {n} trees": xgb(d, n, with_place=True) for d, n in trees},
    }


def choose(models, inputs, labels):
    """Fit all on the training third; the one with the best R² on validation, and its label."""
    scores = {}
    for label, model in models.items():
        model.fit(inputs["train"], labels["train"])
        scores[label] = r2_score(labels["validation"], model.predict(inputs["validation"]))
        print(f"    {label:28} validation R² {scores[label]:.4f}")
    best = max(scores, key=scores.get)
    return models[best], best


def add_predictions(thirds):
    """One column per model: predictions on validation and test, out-of-fold ones on train."""
    inputs = {part: features(table) for part, table in thirds.items()}
    labels = {part: table["log_price"] for part, table in thirds.items()}
    folds = KFold(FOLDS, shuffle=True, random_state=SEED)
    for name, models in candidates().items():
        print(name)
        model, label = choose(models, inputs, labels)
        columns = {part: (name, model.predict(inputs[part])) for part in ("validation", "test")}
        out_of_fold = cross_val_predict(model, inputs["train"], labels["train"], cv=folds)
        columns["train"] = (f"{name}_oof", out_of_fold)
        print(f"  chosen: {label}")
        for part, (column, values) in columns.items():
            print(f"  {column:20} {part:10} R² {r2_score(labels[part], values):.4f}")
            thirds[part] = thirds[part].assign(**{column: storable(values)})
    return thirds


def storable(predictions):
    """float64 values that a float32 could hold: exact to 1e-6, and smaller once compressed."""
    return predictions.astype(np.float32).astype(np.float64)


def write(table, path):
    """Parquet with zstd. Floats are split by byte, or in a dictionary where values repeat."""
    arrow = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(None)
    at = arrow.column_names.index("sale_date")
    arrow = arrow.set_column(at, "sale_date", arrow["sale_date"].cast(pa.date32()))
    split_by_byte = [name for name in arrow.column_names if name.startswith((*PLACE, *MODELS))]
    repeating = [name for name in arrow.column_names if name not in split_by_byte]
    pq.write_table(
        arrow,
        path,
        compression="zstd",
        compression_level=19,
        use_dictionary=repeating,
        use_byte_stream_split=split_by_byte,
    )


def write_geo(table, path):
    """The same rows as GeoParquet: points instead of latitude and longitude, few columns."""
    points = gpd.points_from_xy(table["longitude"], table["latitude"], crs="EPSG:4326")
    kept = table[["id", "price", "log_price", *MODELS]]
    frame = gpd.GeoDataFrame(kept, geometry=points).reset_index(drop=True)
    frame.to_parquet(path, index=False, compression="zstd", compression_level=19)


def main(source):
    thirds = add_predictions(split(read_sales(source)))
    for name, table in thirds.items():
        write(table, HERE / f"{name}.parquet")
    write_geo(thirds["test"], HERE / "test_geo.parquet")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else HERE / "lucas_county_house_sales.parquet")
